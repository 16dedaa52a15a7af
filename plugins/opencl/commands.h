// Commands that were enqueued while recording, followed until the device has done them.
//
// The driver calls back when a command is complete; its stamps are read and pushed there and then,
// on a thread of the driver, so what has run is in the recording even where the program ends
// abruptly. Commands under way are bounded; what exceeds the bound is counted as lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "api.h"
#include "queues.h"
#include "session.h"

namespace crosscut::opencl {

struct Command {
  static constexpr int kArgs = 8;

  std::atomic<cl_event> event{nullptr};  // ours to release
  Queue* queue = nullptr;
  uint64_t flow = 0;
  std::atomic<uint32_t> session{0};
  uint32_t name = 0;
  int64_t before_ns = 0, after_ns = 0;  // around its enqueueing; 0: not measured
  uint8_t arg_count = 0;
  Key keys[kArgs] = {};
  int64_t values[kArgs] = {};

  void Arg(Key key, int64_t value) {
    if (arg_count == kArgs) return;
    keys[arg_count] = key;
    values[arg_count++] = value;
  }
};

constexpr uint32_t kMaxCommands = 1 << 15;

// An empty command, or null where too many are under way.
Command* TakeCommand();
void GiveBack(Command* command);

// `event` will be complete when the command is; takes over one reference to it. From here on the
// command is not the caller's any more.
void Follow(Command* command, cl_event event);

// How many references of ours `event` holds.
cl_uint ReferencesTo(cl_event event);

// A command that will have no span, and why.
enum class Loss { kTooMany, kNoStamps, kFailed, kOverlap, kUnderWay, kCount };
void CountLoss(Loss loss, uint32_t count = 1);
// Tells the host how many since the last call.
void TellLosses();
// All of them since the library was loaded.
uint64_t Losses(Loss loss);
// Commands of `session` under way.
uint32_t UnderWay(uint32_t session);
// Spans pushed since the library was loaded.
uint64_t SpansPushed();

}  // namespace crosscut::opencl
