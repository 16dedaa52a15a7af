// A profiler of the program's own, as CUPTI meets them, that writes down all it is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "fake_cupti.h"

namespace crosscut::cupti {

class TheirProfiler {
 public:
  enum class Kind {
    kRecordsOnly,  // Kineto since August 2026: never subscribes
    kKeepsCalls,   // Kineto before: subscribes when it first begins, for good
    kSubscribes,   // XLA's: subscribes and unsubscribes
    kFinalizes,    // XLA's, too: ends by cuptiFinalize
  };
  TheirProfiler(FakeCupti* cupti, Kind kind) : cupti_(cupti), api_(cupti->table()), kind_(kind) {}
  ~TheirProfiler();

  void Begin();
  void End();
  bool runs() const { return runs_; }
  // CUPTI calls it.
  bool is_subscribed() const {
    return subscriber_ != nullptr && subscriber_ == cupti_->subscriber();
  }
  // What CUPTI answered, every record and every call that it heard of, in order.
  const std::vector<std::string>& log() const { return log_; }

 private:
  static void OnCall(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);
  static void OnRequest(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void OnComplete(CUcontext, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
  void Answer(const char* function, CUptiResult result);
  void Write(const std::string& line);

  static TheirProfiler* current_;  // whose buffer callbacks are registered
  FakeCupti* const cupti_;
  const Api api_;
  const Kind kind_;
  std::atomic<bool> runs_ = false;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;  // of log_
  std::vector<std::string> log_;
};

}  // namespace crosscut::cupti
