// Whether anything is recorded, for whom, and spans of the calling thread.
//
// The host comes once (TF_InitProfiler) and stays; sessions come and go on its threads; the
// application's threads only read. Nothing here is destroyed: drivers call back until the very end
// of the process.
#pragma once

#include <crosscut/plugin.h>

#include <atomic>
#include <cstdint>

namespace crosscut::opencl {

// 0 while no span is to be made: no session, or one at level 0. Else the session's number.
extern std::atomic<uint32_t> recording;
inline uint32_t Recording() { return recording.load(std::memory_order_acquire); }

// The running session's number, whatever its level; 0 between sessions.
uint32_t CurrentSession();

// Null until TF_InitProfiler has been called by a host of Crosscut.
const crosscut_host* Host();
void SetHost(const crosscut_host* host);

void BeginSession();
void EndSession();
void SetLevel(uint32_t level);

// A name that is interned at its first use: for statics.
class Name {
 public:
  constexpr Name(const char* text, uint32_t layer, bool enqueues = false)
      : text_(text), layer_(layer), enqueues_(enqueues) {}
  // Only while there is a host. 0 where it has no room.
  uint32_t id() {
    const uint32_t id = id_.load(std::memory_order_relaxed);
    return id != 0 ? id : Intern();
  }

 private:
  uint32_t Intern();

  const char* const text_;
  const uint32_t layer_;
  const bool enqueues_;
  std::atomic<uint32_t> id_{0};
};

// What costs the application something: a call that only is a span, and one that is followed to
// the device.
uint32_t CallProbe();
uint32_t EnqueueProbe();

// Keys of arguments.
enum class Key : uint8_t {
  kBytes,
  kGlobalX,
  kGlobalY,
  kGlobalZ,
  kLocalX,
  kLocalY,
  kLocalZ,
  kQueuedDelay,
  kSubmitDelay,
  kCount
};
uint32_t KeyWord(Key key);

// A span of layer `runtime` on this thread, for as long as it lives.
class CallSpan {
 public:
  explicit CallSpan(Name& name) : host_(Host()), name_(name.id()) {
    if (name_ != 0) host_->begin(host_->host, name_);
  }
  // An end without a begin would end somebody else's span.
  ~CallSpan() {
    if (name_ != 0) host_->end(host_->host);
  }
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

  // The arrow from this span to the work that it enqueues.
  uint64_t FlowOut() { return name_ != 0 ? host_->flow_out(host_->host) : 0; }

 private:
  const crosscut_host* const host_;
  const uint32_t name_;
};

}  // namespace crosscut::opencl
