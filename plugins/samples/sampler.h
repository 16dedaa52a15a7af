// The source "samples": a thread that looks, so many times a second, at what every thread of the
// process is doing. It sends no signal, stops nobody and never holds the GIL.
//
// A sample is an instant "[sample]" on this thread, with the sampled thread's id, how long ago the
// sample was taken, how much of that thread's time it stands for (since the sample before it, or
// the last look at which it was not there), for
// how long of that the thread was ready without a processor (where the kernel tells), the functions
// of Python outermost first, the line of the program's own code among them, whether the thread has
// the GIL, and where native code was: a library and an offset in its file, or the system call that
// the thread waits in. Where the kernel took the sample, the stack was read so much later as it
// says: this thread may have to wait for a processor first.
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
  bool Init(const char** problem);

  // How far apart samples of a thread are. `asked`: the user wants them so far apart, native code,
  // too, and must hear of it where there are none. Else nothing is done to any thread that is
  // sampled, and samples are nearer to each other at first.
  void SetKind(int64_t period_ns, bool asked);
  // Begins or ends to sample; starts the thread where there is none. Not concurrently.
  void Switch(bool on);
  // The calling thread begins steps.
  void SetStepper() { wanted_.SetStepper(); }
  // In a forked child, where that thread is missing: a new one, if samples were taken. Under the
  // GIL.
  void AfterFork();

 private:
  bool StartThread();
  void Main();
  void Fail(const char* why);

  LoopSettings settings_ = {};
  PythonStacks stacks_;
  Wanted wanted_;
  bool has_thread_ = false;
  std::atomic<bool> asked_{false}, failed_{false};
  std::atomic<bool> named_{false};  // the thread that started ours has its own name again
};

}  // namespace crosscut::samples
