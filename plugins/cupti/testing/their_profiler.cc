#include "their_profiler.h"

#include <cstdlib>

namespace crosscut::cupti {
namespace {

constexpr size_t kBufferBytes = 4096;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

}  // namespace

TheirProfiler* TheirProfiler::current_ = nullptr;

TheirProfiler::~TheirProfiler() {
  if (current_ == this) current_ = nullptr;
}

void TheirProfiler::Begin() {
  runs_ = true;
  if (kind_ != Kind::kRecordsOnly && subscriber_ == nullptr) {
    const CUptiResult result = api_.Subscribe(&subscriber_, &OnCall, this);
    if (result != CUPTI_SUCCESS) subscriber_ = nullptr;
    Answer("subscribe", result);
    if (subscriber_ != nullptr) {
      Answer("domain", api_.EnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API));
    }
  }
  current_ = this;
  Answer("register", api_.ActivityRegisterCallbacks(&OnRequest, &OnComplete));
  for (const CUpti_ActivityKind kind : kKinds) Answer("enable", api_.ActivityEnable(kind));
}

void TheirProfiler::End() {
  runs_ = false;
  for (const CUpti_ActivityKind kind : kKinds) Answer("disable", api_.ActivityDisable(kind));
  Answer("flush", api_.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  size_t dropped = 0;
  Answer("drops", api_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  Write("dropped " + std::to_string(dropped));
  if (kind_ == Kind::kRecordsOnly || kind_ == Kind::kKeepsCalls) return;
  if (subscriber_ != nullptr) Answer("unsubscribe", api_.Unsubscribe(subscriber_));
  subscriber_ = nullptr;
  if (kind_ == Kind::kFinalizes) cupti_->Finalize();
}

void TheirProfiler::Answer(const char* function, CUptiResult result) {
  Write(std::string(function) + " " + std::to_string(static_cast<int>(result)));
}

void TheirProfiler::Write(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.push_back(line);
}

void TheirProfiler::OnCall(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  static_cast<TheirProfiler*>(self)->Write("call " + std::to_string(call->correlationId) +
                                           (call->callbackSite == CUPTI_API_ENTER ? "+" : "-"));
}

void TheirProfiler::OnRequest(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::malloc(kBufferBytes));
  *bytes = kBufferBytes;
  *most_records = 0;
}

// It frees whatever it is handed, as XLA's does.
void TheirProfiler::OnComplete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  TheirProfiler* self = current_;
  CUpti_Activity* record = nullptr;
  while (self->api_.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel7*>(record);
    self->Write("record " + std::to_string(kernel->correlationId) + " of " +
                std::to_string(kernel->end - kernel->start));
  }
  std::free(buffer);
}

}  // namespace crosscut::cupti
