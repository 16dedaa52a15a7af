// Elements of a map, found again without a search where they were looked for lately. Sums that are
// added to for every span go to few elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace crosscut::analyze {

// `Map` has keys that are unsigned integers, and leaves its elements where they are when others
// come: std::map and std::unordered_map do. Nothing may be erased from it meanwhile.
template <class Map>
class Recent {
 public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  // Made where it is not there. The map is the same in all calls.
  Value& In(Map* map, Key key) {
    Slot& slot = slots_[Place(key)];
    if (slot.value == nullptr || slot.key != key) slot = {key, &(*map)[key]};
    return *slot.value;
  }

 private:
  static constexpr int kBits = 7;
  struct Slot {
    Key key = 0;
    Value* value = nullptr;
  };
  static size_t Place(Key key) {
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio (Knuth 3, 6.4)
    return static_cast<size_t>(uint64_t{key} * kSpread >> (64 - kBits));
  }
  std::array<Slot, size_t{1} << kBits> slots_;
};

}  // namespace crosscut::analyze
