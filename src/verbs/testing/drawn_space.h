// XSpaces at random, with everything that the format has a field for and fields that it has not,
// and what there is to find in one, whatever its ids are.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/xspace/testing/encode.h"

namespace crosscut::verbs {

// Times are those of the wall clock from `offset` on, or count from `begin`.
class DrawnSpace {
 public:
  DrawnSpace(std::mt19937* random, int64_t offset, int64_t begin)
      : random_(*random), offset_(offset), begin_(begin) {
    for (int i = Up(4); i > 0; --i) bytes_ += xspace::Text(1, Plane());
    if (Up(3) == 0) bytes_ += xspace::Text(3, "careful");
    if (Up(3) == 0) bytes_ += xspace::Text(4, "box");
  }
  const std::string& bytes() const { return bytes_; }

 private:
  int Up(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }
  template <size_t n>
  std::string One(const char* const (&of)[n]) {
    return of[static_cast<size_t>(Up(n))];
  }
  // One that the dictionary may have, or not.
  int64_t Id() {
    constexpr int64_t kIds[] = {1, 2, 3, 4, 5, 77, int64_t{1} << 40, -5};
    return kIds[static_cast<size_t>(Up(8))];
  }

  std::string Stat() {
    std::string stat = xspace::Number(1, Id());
    switch (Up(8)) {
      case 0: return stat + xspace::Double(2, Up(100) / 8.0);
      case 1:
      case 2: return stat + xspace::Number(3, Up(6));
      case 3: return stat + xspace::Number(4, Up(9) - 3);
      case 4: return stat + xspace::Text(5, One({"text", "été", "", "GPU_0_bfc"}));
      case 5: return stat + xspace::Text(6, std::string("\xff\0\x01", 3));
      case 6: return stat + xspace::Number(7, Id());
      default: return Up(2) ? stat : stat + xspace::Text(12, "of a later version");
    }
  }
  std::string Stats(uint64_t field, int below) {
    std::string stats;
    for (int i = Up(below); i > 0; --i) stats += xspace::Text(field, Stat());
    return stats;
  }

  std::string Event() {
    std::string event = xspace::Number(1, Id());
    const int kind = Up(10);
    if (kind > 0) event += xspace::Number(2, (300 + Up(3000)) * 1000 + Up(1000));
    if (kind == 0) event += xspace::Number(5, Up(5));
    if (Up(9)) event += xspace::Number(3, Up(2) ? Up(300) * 1000 : Up(2000));
    if (Up(60) == 0) event += xspace::Number(2, INT64_MAX - Up(3));  // no clock shows it
    event += Stats(4, 4);
    return Up(5) ? event : event + xspace::Number(1000, 5) + xspace::Text(33, "new");
  }
  std::string Line() {
    std::string line = xspace::Number(1, 1 + Up(4)) + xspace::Text(2, LineName());
    if (Up(5)) line += xspace::Number(3, Up(2) ? offset_ + Up(200) : Up(200));
    for (int i = Up(12); i > 0; --i) line += xspace::Text(4, Event());
    if (Up(2)) line += xspace::Number(9, Up(1000));
    if (Up(3) == 0) line += xspace::Number(10, 1 + Up(4));
    if (Up(3) == 0) line += xspace::Text(11, "shown");
    if (Up(5) == 0) line += xspace::Text(1000, "a note") + xspace::Number(13, 1);
    return line;
  }
  std::string LineName() {
    return One({"queue", "Stream #1(Compute)", "Steps", "python", "", "XLA Ops"});
  }

  std::string Name() {
    return One({"gemm", "MemoryAllocation", "MemoryDeallocation", "cuLaunchKernel", "$a.py:1 f",
                "ThreadpoolListener::Record", "Relu:MatMul", "", "Iterator::Map"});
  }
  std::string EventEntry() {
    const int64_t id = Id();
    std::string name = xspace::Number(1, id) + xspace::Text(2, Name());
    if (Up(3) == 0) name += xspace::Text(3, std::string("\x08\xff", 2));
    if (Up(3) == 0) name += xspace::Text(4, "shown name");
    name += Stats(5, 3);
    if (Up(3) == 0) name += xspace::Text(6, xspace::Varint(2) + xspace::Varint(77));
    if (Up(6) == 0) name += xspace::Number(1000, 11);
    return xspace::Number(1, id) + xspace::Text(2, name);
  }
  std::string StatEntry() {
    const int64_t id = Id();
    std::string name =
        xspace::Number(1, id) +
        xspace::Text(2, One({"correlation_id", "bytes_allocated", "allocation_bytes", "layer",
                             "allocator_name", "step_num", "_r", "tf_op", "flops",
                             "profile_start"
                             "_time"}));
    if (Up(3) == 0) name += xspace::Text(3, "what it is");
    return xspace::Number(1, id) + xspace::Text(2, name);
  }
  std::string Plane() {
    std::string plane = xspace::Number(1, Up(120)) +
                        xspace::Text(2, One({"/host:CPU", "/device:GPU:0", "/device:CUSTOM:CHIP",
                                             "/host:CUPTI", "Task Environment", "#Chip0"}));
    std::map<std::string, std::string> entries;  // each id once, as in a map
    for (int i = Up(8); i > 0; --i) {
      const std::string entry = EventEntry();
      entries["event" + entry.substr(0, 3)] = xspace::Text(4, entry);
    }
    for (int i = Up(8); i > 0; --i) {
      const std::string entry = StatEntry();
      entries["stat" + entry.substr(0, 3)] = xspace::Text(5, entry);
    }
    for (int i = Up(4); i > 0; --i) plane += xspace::Text(3, Line());
    for (const auto& [key, entry] : entries) plane += entry;
    return plane + Stats(6, 3) + (Up(4) ? "" : xspace::Text(8, "of a later version"));
  }

  std::mt19937& random_;
  const int64_t offset_, begin_;
  std::string bytes_;
};

// Every line, name, stat and unknown field of the planes, a text each, with what its ids stand for
// in place of these, and without notes of Crosscut's. `begin`: what lines count from whose time is
// below half of it.
std::vector<std::string> Described(const std::string& space, int64_t begin);

}  // namespace crosscut::verbs
