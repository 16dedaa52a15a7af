// Turns the memory words of a process's threads into instants as Kineto writes them: "[memory]"
// with Addr, Bytes (< 0: freed), Device Type, Device Id, Total Allocated and Total Reserved, and
// "[OutOfMemory]" with the Bytes that could not be had; and a counter for each device.
//
// What the CPU's allocator hands out has its size where it is made only, and no totals: both are
// found here, from the events of all threads in order of time. Total Allocated counts from the
// first allocation that was recorded. A free of a block from before that is no event.
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
  // Both outlive this object.
  NativeMemory(trace::Builder* builder, const NativeClock* clock)
      : builder_(builder), clock_(clock) {}

  static bool Knows(uint16_t code);
  // Requires: Knows(code), its payload is whole, and `track` is the same until Finish.
  void Take(trace::TrackBuilder* track, int64_t at, uint16_t code,
            std::span<const uint64_t> payload);
  // Gives all instants to their tracks. Once, before these are finished.
  void Finish();

  // Blocks whose free is missing: they count as freed when their address was handed out again.
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
