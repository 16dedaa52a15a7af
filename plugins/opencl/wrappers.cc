#include "wrappers.h"

#include <time.h>

namespace crosscut::opencl {
namespace {

// Every so many commands of a queue one is timed, to see whether its device's clock still holds.
constexpr uint32_t kCheckEvery = 64;

int64_t Monotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Enqueueing::Enqueueing(uint32_t session, Queue* queue, cl_event** event) : place_(*event) {
  if (queue == nullptr) return;
  const bool followed = queue->profiled && queue->device->has_callbacks;
  command_ = followed ? TakeCommand() : nullptr;
  if (command_ == nullptr) {
    CountLoss(followed ? Loss::kTooMany : Loss::kNoStamps);
    return;
  }
  command_->queue = queue;
  command_->session = session;
  if (place_ == nullptr) {
    *event = place_ = &own_;
    is_own_ = true;
  }
  if (queue->enqueued.fetch_add(1, std::memory_order_relaxed) % kCheckEvery == 0) {
    command_->before_ns = Monotonic();
  }
}

Command* Enqueueing::Done(bool enqueued, uint64_t flow) {
  if (command_ == nullptr) return nullptr;
  if (!enqueued || *place_ == nullptr) {
    GiveBack(command_);
    return command_ = nullptr;
  }
  if (command_->before_ns != 0) command_->after_ns = Monotonic();
  if (!is_own_) command_->queue->driver->clRetainEvent(*place_);
  command_->flow = flow;
  return command_;
}

void Enqueueing::Follow() { opencl::Follow(command_, *place_); }

}  // namespace crosscut::opencl
