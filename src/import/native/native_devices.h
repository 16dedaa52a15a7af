// The queues of devices that plugins declared in a recorded process, and what the plugins pushed on
// them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

#include "src/import/native/native_arguments.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeDevices {
 public:
  // All arguments must outlive this object. Adds the tracks to the builder and the plugins' clocks
  // to the process.
  NativeDevices(trace::Builder* builder, trace::ProcessId process, const NativeSession* session,
                const NativeClock* clock, NativeArguments* arguments);

  // The payload of an event of one of the codes from kSpanOn to kDropOn.
  void Take(uint16_t code, std::span<const uint64_t> payload);
  // Once, behind the last event: work of a queue that overlaps other work of it without nesting
  // gets tracks of its own.
  void Finish();
  // How many events are on tracks that nothing declared, or under names that nothing introduced.
  uint64_t unknown() const { return unknown_; }

 private:
  struct Device {
    trace::TrackBuilder* track;
    const NativeClock* clock;
  };
  void AddClocks();
  void AddTracks();
  int64_t ToNs(const Device& device, uint64_t time) const;
  trace::NameId NameOf(uint64_t id);
  void Lose(const Device& device, std::span<const uint64_t> payload);

  trace::Builder* builder_;
  trace::ProcessId process_;
  const NativeSession* session_;
  const NativeClock* clock_;
  NativeArguments* arguments_;
  std::unordered_map<uint64_t, NativeClock> clocks_;  // by id; CLOCK_MONOTONIC is the trace's own
  std::map<uint64_t, Device> devices_;                // by the process's track id
  uint64_t unknown_ = 0;
};

}  // namespace crosscut::import
