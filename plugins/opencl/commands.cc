#include "commands.h"

namespace crosscut::opencl {
namespace {

constinit Command pool[kMaxCommands] = {};
// Free commands are a stack of indices + 1: those given back, then those never taken.
constinit std::atomic<uint32_t> next_free[kMaxCommands] = {};
constinit std::atomic<uint64_t> free_head{0};  // index + 1, above it a count that tells pops apart
constinit std::atomic<uint32_t> used{0};

constinit std::atomic<uint64_t> pushed{0};
constinit std::atomic<uint64_t> losses[static_cast<int>(Loss::kCount)] = {};
constinit std::atomic<uint64_t> untold{0};  // losses
constinit std::atomic<int64_t> untold_since{0};

Command* TakeUsed() {
  uint64_t head = free_head.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != 0) {
    const uint32_t index = static_cast<uint32_t>(head) - 1;
    const uint64_t next = ((head >> 32) + 1) << 32 | next_free[index].load();
    if (free_head.compare_exchange_weak(head, next, std::memory_order_acq_rel)) {
      return &pool[index];
    }
  }
  return nullptr;
}

struct Stamps {
  int64_t queued = 0, submit = 0, begin = 0, end = 0;

  bool Read(const cl_icd_dispatch& driver, cl_event event) {
    return EventTime(driver, event, CL_PROFILING_COMMAND_QUEUED, &queued) &&
           EventTime(driver, event, CL_PROFILING_COMMAND_SUBMIT, &submit) &&
           EventTime(driver, event, CL_PROFILING_COMMAND_START, &begin) &&
           EventTime(driver, event, CL_PROFILING_COMMAND_END, &end) && begin > 0 && end >= begin;
  }
};

void Push(const Command& command, const Stamps& stamps) {
  const crosscut_host* host = Host();
  const uint32_t track = command.queue->TrackFor(stamps.begin, stamps.end);
  if (track == 0) return CountLoss(Loss::kOverlap);
  void* self = host->host;
  host->span(self, track, command.name, stamps.begin, stamps.end);
  host->flow_in(self, command.flow);
  for (int i = 0; i < command.arg_count; ++i) {
    host->arg(self, KeyWord(command.keys[i]), command.values[i]);
  }
  host->arg(self, KeyWord(Key::kQueuedDelay), stamps.begin - stamps.queued);
  host->arg(self, KeyWord(Key::kSubmitDelay), stamps.begin - stamps.submit);
  pushed.fetch_add(1, std::memory_order_relaxed);
}

void Harvest(const Command& command, cl_int status) {
  // What a former session enqueued belongs to no later one.
  if (command.session == 0 || command.session != CurrentSession()) return;
  if (status < 0) return CountLoss(Loss::kFailed);
  Stamps stamps;
  const cl_event event = command.event.load(std::memory_order_relaxed);
  if (!stamps.Read(*command.queue->driver, event)) return CountLoss(Loss::kNoStamps);
  if (command.after_ns != 0) {
    command.queue->device->clock.Check(command.before_ns, command.after_ns, stamps.queued);
  }
  Push(command, stamps);
}

void CL_CALLBACK OnComplete(cl_event event, cl_int status, void* data) {
  auto* command = static_cast<Command*>(data);
  Queue* queue = command->queue;
  Harvest(*command, status);
  command->event.store(nullptr, std::memory_order_relaxed);
  GiveBack(command);
  queue->driver->clReleaseEvent(event);
  UnuseQueue(queue);
}

}  // namespace

Command* TakeCommand() {
  Command* command = TakeUsed();
  if (command == nullptr) {
    if (used.load(std::memory_order_relaxed) >= kMaxCommands) return nullptr;
    const uint32_t index = used.fetch_add(1, std::memory_order_acq_rel);
    if (index >= kMaxCommands) {
      used.store(kMaxCommands, std::memory_order_relaxed);
      return nullptr;
    }
    command = &pool[index];
  }
  command->arg_count = 0;
  command->before_ns = command->after_ns = 0;
  return command;
}

void GiveBack(Command* command) {
  command->session = 0;
  const auto index = static_cast<uint32_t>(command - pool);
  uint64_t head = free_head.load(std::memory_order_relaxed);
  uint64_t mine = 0;
  do {
    next_free[index].store(static_cast<uint32_t>(head));
    mine = (head >> 32) << 32 | (index + 1);
  } while (!free_head.compare_exchange_weak(head, mine, std::memory_order_acq_rel));
}

void Follow(Command* command, cl_event event) {
  const cl_icd_dispatch& driver = *command->queue->driver;
  command->event.store(event, std::memory_order_relaxed);
  UseQueue(command->queue);
  if (driver.clSetEventCallback(event, CL_COMPLETE, &OnComplete, command) == CL_SUCCESS) return;
  CountLoss(Loss::kNoStamps);
  command->event.store(nullptr, std::memory_order_relaxed);
  UnuseQueue(command->queue);
  GiveBack(command);
  driver.clReleaseEvent(event);
}

cl_uint ReferencesTo(cl_event event) {
  cl_uint count = 0;
  const uint32_t end = used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < end && i < kMaxCommands; ++i) {
    count += pool[i].event.load(std::memory_order_relaxed) == event;
  }
  return count;
}

void CountLoss(Loss loss, uint32_t count) {
  const crosscut_host* host = Host();
  losses[static_cast<int>(loss)].fetch_add(count, std::memory_order_relaxed);
  if (untold.fetch_add(count) == 0 && host != nullptr) untold_since = host->now_ns(host->host);
}

void TellLosses() {
  const uint64_t count = untold.exchange(0);
  const crosscut_host* host = Host();
  if (count == 0 || host == nullptr) return;
  host->lost(host->host, 0, count, untold_since.load(), host->now_ns(host->host));
}

uint64_t Losses(Loss loss) { return losses[static_cast<int>(loss)].load(); }

uint32_t UnderWay(uint32_t session) {
  uint32_t count = 0;
  const uint32_t end = used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < end && i < kMaxCommands; ++i) {
    count += pool[i].event.load(std::memory_order_relaxed) != nullptr && pool[i].session == session;
  }
  return count;
}

uint64_t SpansPushed() { return pushed.load(std::memory_order_relaxed); }

}  // namespace crosscut::opencl
