// Turns the memory words of a process's threads into instants as Kineto writes them, and into a
// counter for each device. The instants are "[memory]" with Addr, Bytes (< 0: freed), Device Type,
// Device Id, Total Allocated and Total Reserved, and "[OutOfMemory]" with the Bytes that could not
// be allocated.
//
// The CPU's allocator states sizes only where it allocates, and no totals. Both are computed here,
// from the events of all threads in order of time. Total Allocated counts from the first allocation
// that was recorded. A free of an earlier block is no event.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "src/import/native/native_clock.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeMemory {
 public:
  // `builder` and `clock` must outlive this object.
  NativeMemory(trace::Builder* builder, const NativeClock* clock)
      : builder_(builder), clock_(clock) {}

  // Whether events of that code are memory words.
  static bool Knows(uint16_t code);
  // Requires: Knows(code), the payload is whole, and `track` stays valid until Finish. `at` is in
  // ns.
  void Take(trace::TrackBuilder* track, int64_t at, uint16_t code,
            std::span<const uint64_t> payload);
  // Gives all instants to their tracks. Call it once, before the tracks are finished.
  void Finish();

  // How many blocks have no free: they count as freed when their address is handed out again.
  uint64_t unseen_frees() const { return unseen_frees_; }

 private:
  struct Event {
    int64_t at;
    uint64_t address, device;
    int64_t bytes, allocated, reserved;
    trace::TrackBuilder* track;
    bool failed;  // out of memory
  };
  trace::NameId CounterOf(uint64_t device);
  void Tell(const Event& event, int64_t bytes, int64_t allocated);

  trace::Builder* builder_;
  const NativeClock* clock_;
  std::vector<Event> events_;
  trace::NameId changed_, failed_;
  std::map<uint64_t, trace::NameId> counters_;  // by device
  trace::StringId keys_[6];
  uint64_t unseen_frees_ = 0;
};

}  // namespace crosscut::import
