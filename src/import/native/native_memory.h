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
#include <utility>
#include <vector>

#include "src/import/native/native_clock.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeMemory {
 public:
  // `builder` and `clock` must outlive this object. `ends`: ticks, ascending, from which on changes
  // were recorded no more: what is held then counts as freed there.
  NativeMemory(trace::Builder* builder, const NativeClock* clock, const std::vector<uint64_t>& ends)
      : builder_(builder), clock_(clock) {
    for (const uint64_t tick : ends) ends_.push_back(clock->ToNs(tick));
  }

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
  // How many blocks count as freed where their recording ended.
  uint64_t held_at_end() const { return held_at_end_; }

 private:
  struct Event {
    int64_t at;
    uint64_t address, device;
    int64_t bytes, allocated, reserved;
    trace::TrackBuilder* track;
    bool failed;  // out of memory
  };
  using Live = std::map<std::pair<uint64_t, uint64_t>, Event>;  // by device and address
  // What its recording ended with at `at`.
  void End(int64_t at, Live* live);
  void TakeOne(const Event& event, Live* live);
  trace::NameId CounterOf(uint64_t device);
  void Tell(const Event& event, int64_t bytes, int64_t allocated);

  trace::Builder* builder_;
  const NativeClock* clock_;
  std::vector<Event> events_;
  std::vector<int64_t> ends_;  // ns
  trace::NameId changed_, failed_;
  std::map<uint64_t, trace::NameId> counters_;  // by device
  std::map<uint64_t, int64_t>
      totals_;  // allocated, by device: summed of the CPU, else as told last
  trace::StringId keys_[6];
  uint64_t unseen_frees_ = 0, held_at_end_ = 0;
};

}  // namespace crosscut::import
