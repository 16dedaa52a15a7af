// The source "samples": a thread that looks, a hundred times a second, at what every thread of the
// process is doing. It sends no signal, stops nobody and never holds the GIL.
//
// A sample is an instant "[sample]" on this thread, with the sampled thread's id, how long ago the
// sample was taken, how much of that thread's time it stands for (since the sample before it), the
// functions of Python outermost first, the line of the program's own code among them, and where
// native code was: a library and an offset in its file, or the system call that the thread waits
// in.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "sampling_loop.h"

namespace crosscut::samples {

class Sampler {
 public:
  explicit Sampler(OwnCode own) : stacks_(std::move(own)) {}
  // Under the GIL, once. False, and why, where samples cannot be had at all.
  bool Init(int64_t period_ns, const char** problem);
  // What the kernel refuses of native code, in words; "" where nothing.
  const std::string& refused() const { return refused_; }

  // Begins or ends to sample; starts the thread where there is none. Not concurrently.
  void Switch(bool on);
  // In a forked child, where that thread is missing: a new one, if samples were taken. Under the
  // GIL.
  void AfterFork();
  // What a sample of native code costs the thread that is sampled, as a probe.
  void Calibrate();

 private:
  bool StartThread();

  LoopSettings settings_ = {};
  PythonStacks stacks_;
  std::string refused_;
  uint32_t probe_ = 0;
  std::atomic<bool> wanted_{false};
  SamplingLoop* loop_ = nullptr;  // owned by its thread
};

}  // namespace crosscut::samples
