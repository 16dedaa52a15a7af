// What Crosscut writes into an XSpace beside the format: fields of numbers that no other message
// has, which other readers skip. With them its own exports come back as they were. docs/xspace.md
// lists the fields. Times are those of the wall clock, in nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace crosscut::xspace {

// The field that holds a note, of planes, lines, names and events alike.
inline constexpr uint32_t kNoteField = 1000;

// Of a plane: whose it is. Only the first of a process says what follows `device_name`.
struct PlaneNote {
  int64_t process = 0;      // its place in the trace
  int64_t device = -1;      // -1: the host
  std::string device_name;  // of a plane that was passed on: the name that it had
  std::string key, name, why_incomplete;
  int64_t pid = 0, parent_pid = 0, start_ns = 0, end_ns = 0;
  int64_t parent = -1;  // a process; -1: none
  bool complete = true;
  std::vector<std::pair<int64_t, int64_t>> paused;
};

struct LineNote {
  // kPassed: another profiler's, as that wrote it. Of the others' fields it has none.
  enum Role : uint8_t { kThread, kDevice, kAsync, kSteps, kPassed };
  int64_t role = kThread;
  bool main = false, ours = false, lead = false;
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;               // observed life
  std::vector<std::pair<int64_t, int64_t>> base;  // from when on which layer is outside all spans
  // Of a line that was passed on: of which profile of the trace, and of which part of that; the
  // thread of Python's that it is, 0: none.
  int64_t profile = 0, part = 0, python = 0;
};

// Of what all events of a name have in common; numbers as in src/trace.
struct NameNote {
  static constexpr uint8_t kMemory = 7;  // a kind: changes of memory
  uint8_t kind = 0, layer = 0;
  bool waits = false, found = false, crosses = false;
  uint64_t Packed() const {
    return uint64_t{1} | uint64_t{kind} << 1 | uint64_t{layer} << 4 | uint64_t{waits} << 8 |
           uint64_t{found} << 9 | uint64_t{crosses} << 10;
  }
  static NameNote Of(uint64_t packed) {
    return {static_cast<uint8_t>(packed >> 1 & 7), static_cast<uint8_t>(packed >> 4 & 15),
            (packed >> 8 & 1) != 0, (packed >> 9 & 1) != 0, (packed >> 10 & 1) != 0};
  }
};

// Of a span's event.
struct SpanNote {
  bool goes_on = false;              // with an earlier part
  bool details = false, op = false;  // its first kernel_details and tf_op are the writer's
  bool in_step = false;              // and so are its first _ct and _c
  // How long before its begin that part ended, and how many of its name were in it that ended then,
  // too; 0 ns: not told.
  uint64_t waited_ns = 0;
  uint8_t inside = 0;
  uint64_t Packed() const {
    return uint64_t{goes_on} | uint64_t{details} << 1 | uint64_t{op} << 2 | uint64_t{in_step} << 3 |
           uint64_t{inside} << 4 | waited_ns << kWaitedAt;
  }
  static SpanNote Of(uint64_t packed) {
    return {(packed & 1) != 0,      (packed >> 1 & 1) != 0, (packed >> 2 & 1) != 0,
            (packed >> 3 & 1) != 0, packed >> kWaitedAt,    static_cast<uint8_t>(packed >> 4)};
  }
  static constexpr int kWaitedAt = 12;
};

// The note of a change of memory: how many of its stats, the first ones, are the writer's.
using MemoryNote = uint64_t;

// Of a step's event.
struct StepNote {
  uint8_t level = 0;
  bool after_switch = false, open = false;
  uint32_t line = 0;  // that began it: its number among the plane's threads, from 1; 0: none
  uint64_t Packed() const {
    return uint64_t{level} | uint64_t{after_switch} << 3 | uint64_t{open} << 4 |
           uint64_t{line} << 5;
  }
  static StepNote Of(uint64_t packed) {
    return {static_cast<uint8_t>(packed & 7), (packed >> 3 & 1) != 0, (packed >> 4 & 1) != 0,
            static_cast<uint32_t>(packed >> 5)};
  }
};

std::string Encode(const PlaneNote& note);
std::string Encode(const LineNote& note);
// kCorrupt where the bytes are no note.
Status Decode(std::string_view bytes, PlaneNote* note);
Status Decode(std::string_view bytes, LineNote* note);

}  // namespace crosscut::xspace
