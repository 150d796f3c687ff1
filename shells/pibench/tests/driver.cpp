// Loads the shared library as PiBench does and checks every function against a map: edge keys, equal and zero values,
// scans from everywhere, deletion of all keys, and two threads. Prints "refused" if no tree can be created.
//
//     driver LIBRARY KEY_SIZE VALUE_SIZE POOL_PATH
#include "../src/tree_api.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define CHECK(what) check((what), #what, __LINE__)

static void check(bool holds, const char *what, int line) {
    if (!holds) {
        std::fprintf(stderr, "line %d: not so: %s\n", line, what);
        std::exit(1);
    }
}

struct Sizes {
    size_t key, value;
};

// The order of numbers does not depend on the key size: keys of a word are numbers, others are byte strings.
static std::string key_of(uint64_t number, Sizes sizes) {
    std::string key(sizes.key, '\0');
    if (sizes.key == sizeof number) {
        std::memcpy(&key[0], &number, sizeof number);
        return key;
    }
    for (size_t at = 0; at < sizes.key && at < sizeof number; at++)
        key[at] = static_cast<char>(number >> (56 - 8 * at));
    return key;
}

static std::string value_of(uint64_t number, Sizes sizes) {
    std::string value(sizes.value, '\0');
    std::memcpy(&value[0], &number, sizes.value < sizeof number ? sizes.value : sizeof number);
    if (sizes.value > sizeof number)
        value.back() = static_cast<char>(number);
    return value;
}

// A tree, and its expected content.
struct Pair {
    tree_api &tree;
    Sizes sizes;
    std::map<uint64_t, uint64_t> model = {};

    bool find(uint64_t key, uint64_t *number) {
        std::string room(sizes.value, '\x5a');
        bool found = tree.find(key_of(key, sizes).data(), sizes.key, &room[0]);
        if (found) {
            CHECK(model.count(key) && room == value_of(model[key], sizes));
            *number = model[key];
        } else {
            CHECK(room == std::string(sizes.value, '\x5a'));
        }
        return found;
    }

    void has(uint64_t key) {
        uint64_t number = 0;
        CHECK(find(key, &number) == (model.count(key) != 0));
    }

    void insert(uint64_t key, uint64_t value) {
        std::string k = key_of(key, sizes), v = value_of(value, sizes);
        bool fresh = model.emplace(key, value).second;
        CHECK(tree.insert(k.data(), k.size(), v.data(), v.size()) == fresh);
        has(key);
    }

    void update(uint64_t key, uint64_t value) {
        std::string k = key_of(key, sizes), v = value_of(value, sizes);
        bool there = model.count(key) != 0;
        if (there)
            model[key] = value;
        CHECK(tree.update(k.data(), k.size(), v.data(), v.size()) == there);
        has(key);
    }

    void remove(uint64_t key) {
        bool there = model.erase(key) != 0;
        CHECK(tree.remove(key_of(key, sizes).data(), sizes.key) == there);
        has(key);
    }

    void scan(uint64_t from, int count) {
        char *pairs = nullptr;
        int found = tree.scan(key_of(from, sizes).data(), sizes.key, count, pairs);
        auto next = model.lower_bound(from);
        for (int at = 0; at < found; at++, ++next) {
            CHECK(next != model.end());
            CHECK(std::string(pairs, sizes.key) == key_of(next->first, sizes));
            CHECK(std::string(pairs + sizes.key, sizes.value) == value_of(next->second, sizes));
            pairs += sizes.key + sizes.value;
        }
        CHECK(found == count || next == model.end());
    }
};

static uint64_t scattered(uint64_t number) { return number * 0x9E3779B97F4A7C15u; }

static void alone(tree_api &tree, Sizes sizes) {
    Pair pair{tree, sizes};
    const uint64_t edges[] = {0, 1, 255, 256, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX - 1, UINT64_MAX};
    pair.scan(0, 10);
    for (uint64_t key : edges) {
        pair.has(key);
        pair.update(key, 1);
        pair.remove(key);
    }
    // Equal values, zero among them, under all keys; then again, when the keys are present.
    for (uint64_t value : {uint64_t(0), uint64_t(7), UINT64_MAX})
        for (uint64_t key : edges) {
            pair.insert(key, value);
            pair.update(key, value);
        }
    pair.scan(0, 100);
    pair.scan(UINT64_MAX, 5);
    for (uint64_t number = 0; number < 3000; number++)
        pair.insert(scattered(number), number % 3);
    for (uint64_t number = 0; number < 3000; number += 3)
        pair.update(scattered(number), 0);
    for (uint64_t number = 0; number < 3000; number += 7)
        pair.remove(scattered(number));
    for (uint64_t from : {uint64_t(0), scattered(1), scattered(7), uint64_t(1) << 63, UINT64_MAX})
        for (int count : {0, 1, 100, 5000})
            pair.scan(from, count);
    // Removes all keys, and inserts some again.
    while (!pair.model.empty())
        pair.remove(pair.model.begin()->first);
    pair.scan(0, 10);
    for (uint64_t number = 0; number < 200; number++)
        pair.insert(scattered(number), 0);
    while (!pair.model.empty())
        pair.remove(pair.model.rbegin()->first);
}

// Both threads insert and remove each key; each operation must succeed exactly once.
static void together(tree_api &tree, Sizes sizes) {
    const uint64_t keys = 2000;
    size_t inserted[2] = {}, removed[2] = {};
    auto work = [&](int me) {
        for (uint64_t number = 0; number < keys; number++) {
            std::string k = key_of(scattered(number), sizes), v = value_of(number, sizes);
            inserted[me] += tree.insert(k.data(), k.size(), v.data(), v.size());
            std::string room(sizes.value, '\0');
            CHECK(tree.find(k.data(), k.size(), &room[0]) && room == v);
            char *pairs = nullptr;
            CHECK(tree.scan(k.data(), k.size(), 3, pairs) >= 1 && std::string(pairs, sizes.key) == k);
        }
    };
    auto clear = [&](int me) {
        for (uint64_t number = 0; number < keys; number++)
            removed[me] += tree.remove(key_of(scattered(number), sizes).data(), sizes.key);
    };
    std::thread one(work, 0), other(work, 1);
    one.join();
    other.join();
    std::thread third(clear, 0), fourth(clear, 1);
    third.join();
    fourth.join();
    CHECK(inserted[0] + inserted[1] == keys && removed[0] + removed[1] == keys);
    char *pairs = nullptr;
    CHECK(tree.scan(key_of(0, sizes).data(), sizes.key, 1, pairs) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 5);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    auto create = reinterpret_cast<tree_api *(*)(const tree_options_t &)>(dlsym(library, "create_tree"));
    CHECK(create != nullptr);
    Sizes sizes{std::strtoul(arguments[2], nullptr, 10), std::strtoul(arguments[3], nullptr, 10)};
    tree_options_t options;
    options.key_size = sizes.key;
    options.value_size = sizes.value;
    options.pool_path = arguments[4];
    options.pool_size = 1 << 20;
    options.num_threads = 2;
    tree_api *tree = create(options);
    if (!tree) {
        std::puts("refused");
        return 0;
    }
    alone(*tree, sizes);
    together(*tree, sizes);
    delete tree;
    std::puts("well");
    return 0;
}
