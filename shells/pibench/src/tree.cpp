// The class that PiBench uses, over the functions of `door.rs`, one for one. It throws no exception, and no panic
// leaves those functions.
#include "tree_api.hpp"

extern "C" {
struct holm_tree;
holm_tree *holm_pibench_open(size_t key_size, size_t value_size, const char *pool_path, size_t pool_path_size);
void holm_pibench_close(holm_tree *tree);
bool holm_pibench_find(const holm_tree *tree, const char *key, size_t key_size, char *value_out);
bool holm_pibench_insert(const holm_tree *tree, const char *key, size_t key_size, const char *value,
                         size_t value_size);
bool holm_pibench_update(const holm_tree *tree, const char *key, size_t key_size, const char *value,
                         size_t value_size);
bool holm_pibench_remove(const holm_tree *tree, const char *key, size_t key_size);
int holm_pibench_scan(const holm_tree *tree, const char *key, size_t key_size, int count, char **values_out);
}

namespace {

class Tree final : public tree_api {
  public:
    explicit Tree(holm_tree *tree) : tree(tree) {}
    Tree(const Tree &) = delete;
    Tree &operator=(const Tree &) = delete;
    ~Tree() override { holm_pibench_close(tree); }

    bool find(const char *key, size_t key_size, char *value_out) override {
        return holm_pibench_find(tree, key, key_size, value_out);
    }

    bool insert(const char *key, size_t key_size, const char *value, size_t value_size) override {
        return holm_pibench_insert(tree, key, key_size, value, value_size);
    }

    bool update(const char *key, size_t key_size, const char *value, size_t value_size) override {
        return holm_pibench_update(tree, key, key_size, value, value_size);
    }

    bool remove(const char *key, size_t key_size) override { return holm_pibench_remove(tree, key, key_size); }

    int scan(const char *key, size_t key_size, int count, char *&values_out) override {
        return holm_pibench_scan(tree, key, key_size, count, &values_out);
    }

  private:
    holm_tree *tree;
};

} // namespace

// `create_tree` itself is defined in Rust: a shared library of Rust exports only symbols that Rust defines.
extern "C" void *holm_pibench_create(const tree_options_t *options) {
    holm_tree *tree = holm_pibench_open(options->key_size, options->value_size, options->pool_path.data(),
                                        options->pool_path.size());
    return tree ? static_cast<tree_api *>(new Tree(tree)) : nullptr;
}
