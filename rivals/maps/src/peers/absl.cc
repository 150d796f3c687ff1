// absl::btree_map behind a foreign interface, for the two types of pairs that are measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/container/btree_map.h"

namespace {

template <typename Key, std::size_t Bytes>
struct Peer {
  using Value = std::array<char, Bytes>;
  absl::btree_map<Key, Value> map;

  // A key and its value as Rust lays the pair out.
  struct Pair {
    Key key;
    Value value;
  };

  static std::uint64_t number(const Value& value) {
    std::uint64_t number;
    std::memcpy(&number, value.data(), sizeof number);
    return number;
  }
};

}  // namespace

#define PEER(name, Key, bytes)                                                              \
  extern "C" void* absl_##name##_new() { return new Peer<Key, bytes>(); }                   \
  extern "C" void absl_##name##_free(void* at) { delete static_cast<Peer<Key, bytes>*>(at); } \
  extern "C" void absl_##name##_insert(void* at, Key key, const char* value) {              \
    Peer<Key, bytes>::Value copy;                                                           \
    std::memcpy(copy.data(), value, bytes);                                                 \
    static_cast<Peer<Key, bytes>*>(at)->map.insert_or_assign(key, copy);                    \
  }                                                                                         \
  extern "C" std::uint64_t absl_##name##_get(const void* at, Key key) {                     \
    const auto& map = static_cast<const Peer<Key, bytes>*>(at)->map;                        \
    const auto found = map.find(key);                                                       \
    return found == map.end() ? 0 : Peer<Key, bytes>::number(found->second);                \
  }                                                                                         \
  extern "C" std::size_t absl_##name##_remove(void* at, Key key) {                          \
    return static_cast<Peer<Key, bytes>*>(at)->map.erase(key);                              \
  }                                                                                         \
  extern "C" std::uint64_t absl_##name##_scan(const void* at, Key from, std::size_t count) { \
    const auto& map = static_cast<const Peer<Key, bytes>*>(at)->map;                        \
    std::uint64_t sum = 0;                                                                  \
    for (auto pair = map.lower_bound(from); pair != map.end() && count > 0; ++pair, --count) { \
      sum += Peer<Key, bytes>::number(pair->second);                                        \
    }                                                                                       \
    return sum;                                                                             \
  }                                                                                         \
  extern "C" void* absl_##name##_of_sorted(const void* at, std::size_t count) {             \
    const auto* pairs = static_cast<const Peer<Key, bytes>::Pair*>(at);                     \
    auto* made = new Peer<Key, bytes>();                                                    \
    for (std::size_t pair = 0; pair < count; ++pair) {                                      \
      made->map.insert(made->map.end(), {pairs[pair].key, pairs[pair].value});              \
    }                                                                                       \
    return made;                                                                            \
  }                                                                                         \
  extern "C" void* absl_##name##_copy(const void* at) {                                     \
    return new Peer<Key, bytes>(*static_cast<const Peer<Key, bytes>*>(at));                 \
  }                                                                                         \
  extern "C" std::uint64_t absl_##name##_sum(const void* at) {                              \
    std::uint64_t sum = 0;                                                                  \
    for (const auto& pair : static_cast<const Peer<Key, bytes>*>(at)->map) {                \
      sum += Peer<Key, bytes>::number(pair.second);                                         \
    }                                                                                       \
    return sum;                                                                             \
  }                                                                                         \
  extern "C" std::uint64_t absl_##name##_sum_back(const void* at) {                         \
    const auto& map = static_cast<const Peer<Key, bytes>*>(at)->map;                        \
    std::uint64_t sum = 0;                                                                  \
    for (auto pair = map.rbegin(); pair != map.rend(); ++pair) {                            \
      sum += Peer<Key, bytes>::number(pair->second);                                        \
    }                                                                                       \
    return sum;                                                                             \
  }

PEER(u64, std::uint64_t, 8)
PEER(f32, float, 28)
