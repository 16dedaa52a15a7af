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
#include "options.h"

namespace crosscut::cupti {

class Calls {
 public:
  // `launches` gets the arrow of every call that gives work to a device. Once.
  void Prepare(const crosscut_host* host, const Options& options, CorrelationTable* launches);

  // A new session: spans that were left open are forgotten.
  void Renew() { session_.fetch_add(1, std::memory_order_relaxed); }
  // What becomes of calls that begin from now on, on any thread. The callbacks stay: withdrawn
  // while a thread is in a call, they would leave its span open in the midst of the program's.
  enum Mode : uint8_t {
    kOff,
    kLeaveOut,  // a control step: what they launch is known as kLeftOut, whenever it runs
    kRecord
  };
  void Set(Mode mode) { mode_.store(mode, std::memory_order_relaxed); }
  // Makes CUPTI call us, or not. Returns the first error.
  CUptiResult Enable(const Api& api, CUpti_SubscriberHandle subscriber);
  CUptiResult Disable(const Api& api, CUpti_SubscriberHandle subscriber);

  // CUPTI's callback for both domains; any thread.
  void On(CUpti_CallbackDomain domain, CUpti_CallbackId call, const CUpti_CallbackData* data);
  // On the calling thread: how much the host and we add to a call.
  void Calibrate();

 private:
  static constexpr uint32_t kMostCalls = 2048;  // of a domain; CUDA 13.5 has 876
  static constexpr uint32_t kLaunches = 1u << 31;

  uint32_t NameOf(CUpti_CallbackDomain domain, CUpti_CallbackId call, const char* function);
  uint32_t Intern(const char* function) const;
  void Begin(CUpti_CallbackDomain domain, CUpti_CallbackId call, const CUpti_CallbackData* data);
  void LeaveOut(CUpti_CallbackDomain domain, uint32_t correlation);
  void End(CUpti_CallbackDomain domain, uint32_t correlation);

  const crosscut_host* host_ = nullptr;
  CorrelationTable* launches_ = nullptr;
  bool runtime_ = true, driver_ = true;
  uint32_t probe_ = 0;
  std::atomic<Mode> mode_{kOff};
  std::atomic<uint32_t> session_{1};
  std::atomic<uint32_t> names_[2][kMostCalls] = {};  // name id, with kLaunches
};

}  // namespace crosscut::cupti
