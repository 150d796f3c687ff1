// The interface between PiBench and a tree: the options, and a class with its virtual functions in this order. It is
// written from the interface's specification, with the names that readers of a wrapper expect.
#pragma once

#include <cstddef>
#include <string>

struct tree_options_t {
    size_t key_size = 8;
    size_t value_size = 8;
    std::string pool_path = "";
    size_t pool_size = 0;
    size_t num_threads = 1;
};

class tree_api {
  public:
    virtual ~tree_api() {}
    // Copies the value out; false if the key is absent.
    virtual bool find(const char *key, size_t key_size, char *value_out) = 0;
    // False if the key is present; nothing has changed then.
    virtual bool insert(const char *key, size_t key_size, const char *value, size_t value_size) = 0;
    // False if the key is absent.
    virtual bool update(const char *key, size_t key_size, const char *value, size_t value_size) = 0;
    // False if the key is absent.
    virtual bool remove(const char *key, size_t key_size) = 0;
    // Returns the number of pairs from the key on, at most `count`. `values_out` points to them, keys and values
    // alternating, in ascending order, until the same thread scans again.
    virtual int scan(const char *key, size_t key_size, int count, char *&values_out) = 0;
};
