// Which clock a device stamps its events with, and how that clock stands to the host's.
//
// Some drivers tell (clGetDeviceAndHostTimer). Of the others, most use a clock of the host: which
// one is found by events of our own whose enqueueing is bracketed between readings of every
// candidate. Where none fits, brackets around the application's own events are the readings.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "api.h"

namespace crosscut::opencl {

class DeviceClock {
 public:
  enum class Kind : uint8_t { kUnknown, kRaw, kMonotonic, kRealtime, kTimer };

  // Once, before anything else. Makes a queue of its own in `context`, enqueues some markers, waits
  // for them and releases it: some 100 us.
  void Identify(cl_context context, cl_device_id device);

  // The id under which the host knows it; 0 (its CLOCK_MONOTONIC) without a host.
  uint32_t Id(int64_t device_index);
  // Tells the host how the clock stands now. Any thread.
  void Read();
  // An event was enqueued between two moments of CLOCK_MONOTONIC, and `queued` is its stamp.
  void Check(int64_t before_ns, int64_t after_ns, int64_t queued);

  Kind kind() const { return kind_; }
  const char* KindName() const;
  // Stamps lie within this of the host's time, as far as events have shown; -1: not known.
  int64_t error_ns() const { return error_ns_.load(std::memory_order_relaxed); }

 private:
  struct Bracket;
  void Probe(cl_command_queue queue, cl_device_id device);
  bool Fits(Kind kind, const Bracket* brackets, int count, int64_t offset);
  bool ReadPair(int64_t* host_ns, int64_t* device_ns, int64_t* error_ns);
  void Tell(int64_t host_ns, int64_t device_ns, int64_t error_ns);

  cl_device_id device_ = nullptr;
  Kind kind_ = Kind::kUnknown;
  std::atomic<int64_t> error_ns_{-1};
  std::atomic<uint32_t> id_{0};
};

}  // namespace crosscut::opencl
