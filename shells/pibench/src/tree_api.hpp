// What PiBench and a tree know of each other: the options, and a class whose virtual functions stand in this order. It
// is written anew after the interface; names are those that a wrapper's reader expects.
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
    // Copies the value out; false where the key is absent.
    virtual bool find(const char *key, size_t key_size, char *value_out) = 0;
    // False where the key is present, and nothing has changed.
    virtual bool insert(const char *key, size_t key_size, const char *value, size_t value_size) = 0;
    // False where the key is absent.
    virtual bool update(const char *key, size_t key_size, const char *value, size_t value_size) = 0;
    // False where the key is absent.
    virtual bool remove(const char *key, size_t key_size) = 0;
    // Pairs from the key on, at most `count`; their number. `values_out` leads to them, key and value by turns, in
    // ascending order, until the same thread scans again.
    virtual int scan(const char *key, size_t key_size, int count, char *&values_out) = 0;
};
