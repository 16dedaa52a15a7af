// The program's calls of the CUDA API, as spans of the threads that make them.
//
// CUPTI's callbacks rather than its RUNTIME and DRIVER records: a record comes late and knows a
// thread by number only, while a callback runs on the calling thread, so that the call nests in
// the program's own spans and its arrow starts in it. docs/cupti.md has what each costs.
#pragma once

#include <crosscut/plugin.h>

#include <atomic>
#include <cstdint>

#include "api.h"
#include "correlation.h"
#include "inflation.h"
#include "metrics.h"
#include "options.h"

namespace crosscut::cupti {

class Calls {
 public:
  struct Open;  // the call that a thread is in

  // `launches` gets the arrow of every call that gives work to a device; `metrics` hears of each.
  // Once.
  void Prepare(const crosscut_host* host, const Options& options, CorrelationTable* launches,
               Metrics* metrics);

  // A new session: spans that were left open are forgotten.
  void Renew() { session_.fetch_add(1, std::memory_order_relaxed); }
  // What becomes of calls that begin from now on, on any thread.
  enum Mode : uint8_t {
    kOff,
    kCount,  // as kRecord; what they launch is another profiler's, and TakeCounted() knows how much
    kRecord
  };
  void Set(Mode mode) { Change(kLeavesOut, mode); }
  // A control step: what they launch is known as kLeftOut, whenever it runs.
  void LeaveOut(bool leave) { Change(kModes, leave ? kLeavesOut : 0); }
  // Launches of kCount since this was last asked for.
  uint64_t TakeCounted() { return counted_.exchange(0, std::memory_order_relaxed); }
  // After Set(kOff): waits until no thread is in a recorded call, since callbacks that are
  // withdrawn before would leave its span open in the midst of the program's. How many still are
  // after `patience_ns`: their calls are forgotten.
  int AwaitNone(int64_t patience_ns);
  // Makes CUPTI call us, or not. Returns the first error.
  CUptiResult Enable(const Api& api, CUpti_SubscriberHandle subscriber);
  CUptiResult Disable(const Api& api, CUpti_SubscriberHandle subscriber);

  // CUPTI's callback for both domains; any thread.
  void On(CUpti_CallbackDomain domain, CUpti_CallbackId call, const CUpti_CallbackData* data);
  // On the calling thread: how much the host and we add to a call.
  void Calibrate();
  // How much CUPTI adds.
  void Tell(const Inflation& inflation);

 private:
  static constexpr uint32_t kMostCalls = 2048;  // of a domain; CUDA 13.5 has 876
  static constexpr uint32_t kLaunches = 1u << 31;
  static constexpr uint32_t kKernels = 1u << 30;        // among them
  static constexpr uint8_t kModes = 3, kLeavesOut = 4;  // of state_

  uint32_t NameOf(CUpti_CallbackDomain domain, CUpti_CallbackId call, const char* function);
  uint32_t Intern(const char* function) const;
  void Begin(Open* open, CUpti_CallbackDomain domain, CUpti_CallbackId call,
             const CUpti_CallbackData* data);
  // Keeps the bits of `keep` and sets those of `set`.
  void Change(uint8_t keep, uint8_t set);
  void LeaveOut(Open* open, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                const CUpti_CallbackData* data);
  void End(CUpti_CallbackDomain domain, uint32_t correlation);

  const crosscut_host* host_ = nullptr;
  CorrelationTable* launches_ = nullptr;
  Metrics* metrics_ = nullptr;
  bool runtime_ = true, driver_ = true;
  uint32_t probes_[kCallKinds] = {};
  std::atomic<uint8_t> state_{kOff};  // a Mode, and kLeavesOut
  std::atomic<uint64_t> counted_{0};
  std::atomic<uint32_t> session_{1};
  std::atomic<uint32_t> names_[2][kMostCalls] = {};  // name id, with kLaunches, kKernels
};

}  // namespace crosscut::cupti
