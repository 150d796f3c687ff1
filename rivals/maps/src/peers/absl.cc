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
  }

PEER(u64, std::uint64_t, 8)
PEER(f32, float, 28)
