#include "plugins/pycalls/search/memory_map.h"

#include <algorithm>
#include <cstdio>

namespace crosscut::pycalls {

MemoryMap MemoryMap::Read() {
  MemoryMap map;
  FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return map;
  char line[512];
  bool at_line_start = true;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long begin = 0, end = 0;
    char rights[5] = "";
    if (at_line_start && std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) == 3) {
      map.ranges_.push_back({begin, end, rights[0] == 'r', rights[1] == 'w'});
    }
    at_line_start = std::find(line, line + sizeof line, '\n') != line + sizeof line;
    std::fill(line, line + sizeof line, '\0');
  }
  std::fclose(file);
  return map;
}

const MemoryMap::Range* MemoryMap::Find(const void* address, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                [](uintptr_t a, const Range& r) { return a < r.begin; });
  if (range == ranges_.begin()) return nullptr;
  --range;
  return at + bytes <= range->end ? &*range : nullptr;
}

bool MemoryMap::Readable(const void* address, size_t bytes) const {
  const Range* range = Find(address, bytes);
  return range != nullptr && range->readable;
}

bool MemoryMap::Writable(const void* address, size_t bytes) const {
  const Range* range = Find(address, bytes);
  return range != nullptr && range->writable;
}

}  // namespace crosscut::pycalls
