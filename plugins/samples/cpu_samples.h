// Where a thread stands in native code, each time it has used so much of a processor: samples that
// the kernel takes (perf_event_open, clock PERF_COUNT_SW_TASK_CLOCK), in user space alone. The
// thread notices nothing: no signal, no stop.
#pragma once

#include <cstdint>

struct perf_event_mmap_page;

namespace crosscut::samples {

struct CpuSample {
  int64_t at_ns;     // CLOCK_MONOTONIC
  uint64_t address;  // of the instruction
};

class CpuSamples {
 public:
  CpuSamples() = default;
  ~CpuSamples() { Close(); }
  CpuSamples(const CpuSamples&) = delete;
  CpuSamples& operator=(const CpuSamples&) = delete;

  // An errno where the kernel does not let this process do it, else 0. Makes no event.
  static int Refusal();
  // Samples the thread each `period_ns` of its processor time, from now on; 0 or an errno.
  int Open(int tid, int64_t period_ns);
  void Close();
  void Enable(bool on);
  // Becomes readable with each sample.
  int fd() const { return fd_; }
  // How many samples there were since the last call, and the newest of them.
  int Take(CpuSample* newest);

 private:
  int fd_ = -1;
  perf_event_mmap_page* page_ = nullptr;
};

}  // namespace crosscut::samples
