#include "libraries.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "clock.h"
#include "crosscut/crosscut.h"
#include "file_identity.h"

namespace crosscut::samples {
namespace {

// Code that is made and dropped all the time must not have the map read all the time.
constexpr int64_t kReadAgainNs = 100'000'000;

}  // namespace

const Libraries::Range* Libraries::Holds(uint64_t address) const {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t at, const Range& range) { return at < range.begin; });
  if (range == ranges_.begin() || (--range)->end <= address) return nullptr;
  return &*range;
}

Libraries::Place Libraries::Find(uint64_t address) {
  const Range* range = Holds(address);
  if (range == nullptr && (read_ns_ == 0 || NowNs() - read_ns_ > kReadAgainNs)) {
    Read();
    range = Holds(address);
  }
  if (range == nullptr) return {0, 0};
  uint32_t& id = ids_[*range->path];
  if (id == 0) {
    std::string name = *range->path;
    if (name.starts_with('/')) name += '\t' + IdentityOf(name);
    id = crosscut_intern(name.data(), name.size(), CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  }
  return {id, static_cast<int64_t>(address - range->begin + range->offset)};
}

void Libraries::Read() {
  read_ns_ = NowNs();
  FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return;
  ranges_.clear();
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, file) > 0) {
    uint64_t begin = 0, end = 0, offset = 0;
    char rights[5] = "";
    int path = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &begin, &end,
                    rights, &offset, &path) < 4 ||
        rights[2] != 'x') {
      continue;
    }
    std::string name = path > 0 ? line + path : "";
    name.erase(std::min(name.size(), name.find('\n')));
    if (name.empty() || name.starts_with("//anon") || name.starts_with("[anon")) {
      name = "[generated]";
      offset = 0;
    }
    ranges_.push_back({begin, end, offset, &ids_.try_emplace(name, 0).first->first});
  }
  std::free(line);
  std::fclose(file);
}

}  // namespace crosscut::samples
