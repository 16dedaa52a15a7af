// What may be done with an address: /proc/self/maps, read once. Method tables can lie in memory
// that was made read-only after relocation; writing there would be a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::pycalls {

class MemoryMap {
 public:
  // An empty map (nothing readable or writable) where /proc cannot be read.
  static MemoryMap Read();

  bool Readable(const void* address, size_t bytes) const;
  bool Writable(const void* address, size_t bytes) const;

 private:
  struct Range {
    uintptr_t begin, end;
    bool readable, writable;
  };
  const Range* Find(const void* address, size_t bytes) const;

  std::vector<Range> ranges_;  // ascending
};

}  // namespace crosscut::pycalls
