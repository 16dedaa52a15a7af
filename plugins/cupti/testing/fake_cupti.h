// CUPTI as the headers describe it, simulated: a table of functions over one object.
//
// Tests program what it refuses, who else has it, how its clock runs and what the device does; it
// keeps count of what it was asked. One at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../api.h"
#include "../layout.h"
#include "fake_counters.h"

namespace crosscut::cupti {

class FakeCupti {
 public:
  FakeCupti();
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;
  Api table() const;

  // ---- To program ------------------------------------------------------------------------------
  uint32_t version = 130500;
  std::map<std::string, CUptiResult> refuse;              // by function, "Subscribe"
  std::map<CUpti_ActivityKind, CUptiResult> refuse_kind;  // of ActivityEnable
  std::string owner;                                      // another subscriber
  int64_t clock_offset_ns = 1'700'000'000'000'000'000;    // of its own clock to CLOCK_MONOTONIC
  bool takes_our_clock = true;                            // honours a timestamp callback
  size_t kernel_bytes = sizeof(CUpti_ActivityKernel10);   // what ActivityGetStructSize says
  std::atomic<int> slow_ms = 0;                           // that Subscribe takes
  bool hold_back = false;                                 // buffers come back at Release() only
  std::function<void(const std::string&)> meanwhile;      // called as a function is, by its name
  uint64_t drop = 0;  // records, beside those that found no buffer

  FakeCounters counters;
  inline static thread_local uintptr_t context = 1;  // of the calling thread; 0: none

  // ---- To ask ----------------------------------------------------------------------------------
  std::map<std::string, int> asked;  // calls by function
  std::set<CUpti_ActivityKind> kinds;
  bool is_subscribed() const { return callback_.load() != nullptr; }
  // Null: there is none.
  CUpti_SubscriberHandle subscriber() const {
    return is_subscribed() ? reinterpret_cast<CUpti_SubscriberHandle>(subscriber_.load()) : nullptr;
  }
  bool CallsBack(CUpti_CallbackDomain domain, CUpti_CallbackId call) const;
  int CallsInAll() const;
  // Of its own clock, or of the clock it was given.
  int64_t Now() const;
  void TakeAnotherClock(CUpti_TimestampCallbackFunc clock) { clock_ = clock; }

  // ---- The program and its device
  // ---------------------------------------------------------------- A call of the API, with what
  // happens in it, on the calling thread. Returns its id.
  template <class Inside>
  uint32_t Call(CUpti_CallbackDomain domain, CUpti_CallbackId call, const char* function,
                Inside inside) {
    const uint32_t id = ++correlation_;
    CallBack(domain, call, function, CUPTI_API_ENTER, id);
    inside(id);
    CallBack(domain, call, function, CUPTI_API_EXIT, id);
    return id;
  }
  uint32_t Launch();       // cudaLaunchKernel
  uint32_t LaunchGraph();  // cudaGraphLaunch
  static CUcontext Context() { return reinterpret_cast<CUcontext>(context << 12); }
  // The calling thread's context goes.
  void DestroyContext();
  // The record of a kernel with usual values.
  static CUpti_ActivityKernel7 Kernel(uint32_t correlation, int64_t begin_ns, int64_t end_ns);
  // Into the buffer of `thread`; dropped and counted where no buffer is to be had.
  template <class Record>
  void Put(const Record& record, int thread = 0) {
    PutBytes(&record, sizeof record, record.kind, thread);
  }
  // As Put(), cut or stretched to `bytes`.
  template <class Record>
  void PutAs(const Record& record, size_t bytes) {
    std::vector<uint8_t> wide(std::max(bytes, sizeof record));
    std::memcpy(wide.data(), &record, sizeof record);
    PutBytes(wide.data(), bytes, record.kind, 0);
  }
  // The device has not finished what is in the buffer of `thread`.
  void SetIncomplete(int thread, bool incomplete) { incomplete_[thread] = incomplete; }
  // The buffer of `thread` is full.
  void Finish(int thread = 0);
  // Hands back what was held.
  void Release();
  // cuptiFinalize: nobody has it, nothing is on, and what buffers hold is gone.
  void Finalize();

 private:
  friend class FakeCounters;
  struct Buffer {
    uint8_t* memory;
    size_t bytes, valid;
    std::vector<size_t> starts;  // of its records
  };
  static FakeCupti* current_;
  static CUptiResult Asked(const char* function);
  static CUptiResult NextRecord(uint8_t*, size_t, CUpti_Activity**);
  void FillCallbacks(Api* api) const;
  void FillSwitches(Api* api) const;
  void FillActivities(Api* api) const;
  void CallBack(CUpti_CallbackDomain, CUpti_CallbackId, const char*, CUpti_ApiCallbackSite,
                uint32_t id);
  void PutBytes(const void* record, size_t bytes, CUpti_ActivityKind kind, int thread);
  void HandBack(Buffer buffer);
  void ForgetSubscriber();
  void FlushAll(bool forced);

  mutable std::mutex mutex_;            // of what is asked and of what is enabled
  std::recursive_mutex buffers_mutex_;  // of buffers; held while they are handed over
  std::atomic<CUpti_CallbackFunc> callback_ = nullptr;
  std::atomic<void*> callback_data_ = nullptr;
  std::atomic<uintptr_t> subscriber_ = 0;               // the handle of the latest
  std::map<int, std::set<CUpti_CallbackId>> on_, off_;  // exceptions from domains_
  std::set<int> domains_;
  std::atomic<CUpti_TimestampCallbackFunc> clock_ = nullptr;
  std::atomic<CUpti_BuffersCallbackRequestFunc> request_ = nullptr;
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_ = nullptr;
  std::map<int, Buffer> filling_;  // by thread
  std::map<int, bool> incomplete_;
  std::map<const uint8_t*, std::vector<size_t>> handed_back_;
  std::deque<Buffer> held_;
  std::atomic<uint32_t> correlation_{100};
  uint64_t dropped_ = 0;
};

}  // namespace crosscut::cupti
