// The loop of the thread that takes samples. Everything here is that thread's own: in a forked
// child, where the thread is missing, its loop is left as it is and never touched again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "cpu_samples.h"
#include "libraries.h"
#include "python_stacks.h"
#include "waits.h"

namespace crosscut::samples {

struct SampleNames {  // ids
  uint32_t sample, thread, ago, covers, frame, own_line, library, offset, waits;
  uint32_t runs;  // value of `waits` for a thread that waits in no call; 0: not told
};
struct LoopSettings {
  int64_t period_ns;
  bool native;  // perf_event_open is allowed
  SampleNames names;
  const std::atomic<bool>* wanted;
  int wake;  // eventfd: look at *wanted
};

class SamplingLoop {
 public:
  SamplingLoop(const LoopSettings& settings, const PythonStacks& stacks)
      : settings_(settings), names_(settings.names), stacks_(stacks) {}
  // Returns only where the kernel refuses what it needs.
  void Run();

 private:
  struct Thread {
    CpuSamples cpu;
    const void* state = nullptr;  // of Python; null: native
    int64_t last_ns = 0;          // its last sample
    bool ours = false, seen = false;
  };
  void OwnDescriptors();
  bool Wait(int64_t until_ns);
  void SwitchThreads(bool on);
  void Tick();
  void FindThreads();
  void FindPythonThreads();
  Thread& Add(int tid);
  void SampleRunning(int tid);
  void SampleWaiting(int tid, Thread* thread);
  struct Native {
    Libraries::Place place;
    uint32_t waits;  // name id; 0: it runs
  };
  void Emit(int tid, Thread* thread, int64_t at_ns, const Native& native);

  const LoopSettings settings_;
  const SampleNames& names_;
  int epoll_ = -1;
  PythonStacks stacks_;
  Libraries libraries_;
  Waits waits_;
  std::unordered_map<int, std::unique_ptr<Thread>> threads_;
  int64_t since_ns_ = 0;  // samples have been taken since then
  uint64_t ticks_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace crosscut::samples
