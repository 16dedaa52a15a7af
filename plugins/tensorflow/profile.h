// One window of a tf.profiler session: what Crosscut records between start and stop, as an XSpace.
// Calls come in order but from any thread; a second registration of the same library (TensorFlow
// loads it once per path) finds the window taken and gets nothing.
#pragma once

#include <cstdint>
#include <string>

namespace crosscut::tensorflow {

class Window {
 public:
  // `owner` tells registrations apart. Drops what an earlier window left. Does nothing where a
  // session of Crosscut's is open already: its own run has it all.
  void Start(const void* owner);
  // Ends the window's own session; one that the program has begun meanwhile goes on.
  void Stop(const void* owner);
  // The serialised XSpace of the window, made at the first call after Stop() by the command-line
  // program; empty where there is none. Valid until Drop() or Start().
  const std::string& Collect(const void* owner);
  void Drop(const void* owner);
  // The process ends: leaves no files behind.
  void Abandon();

 private:
  enum class State { kIdle, kRecording, kStopped, kCollected };
  // A forked child has none of its parent's windows, whose files are the parent's.
  void ForgetParents();
  void RemoveRun();

  State state_ = State::kIdle;
  int process_ = 0;  // that called last
  const void* owner_ = nullptr;
  uint32_t session_ = 0;  // the window's, by its number
  // Temporary: the run, and beside it the exported file; the ring, in memory. The run's stays until
  // the next window has begun, or the process ends.
  std::string folder_, ring_folder_;
  std::string bytes_;
};

}  // namespace crosscut::tensorflow
