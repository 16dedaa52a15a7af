#include "fake_cupti.h"

#include <cupti_runtime_cbid.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace crosscut::cupti {
FakeCupti* FakeCupti::current_ = nullptr;

FakeCupti::FakeCupti() { current_ = this; }
FakeCupti::~FakeCupti() { current_ = nullptr; }

// Every function begins with it.
CUptiResult FakeCupti::Asked(const char* function) {
  if (current_->meanwhile) current_->meanwhile(function);
  std::lock_guard<std::mutex> lock(current_->mutex_);
  ++current_->asked[function];
  const auto refused = current_->refuse.find(function);
  return refused == current_->refuse.end() ? CUPTI_SUCCESS : refused->second;
}

#define ASKED(name) \
  if (const CUptiResult refused = Asked(name); refused != CUPTI_SUCCESS) return refused

Api FakeCupti::table() const {
  Api api;
  FillCallbacks(&api);
  FillSwitches(&api);
  FillActivities(&api);
  current_->counters.FillTable(&api);
  return api;
}

void FakeCupti::FillCallbacks(Api* api) const {
  api->GetVersion = [](uint32_t* version) {
    ASKED("GetVersion");
    *version = current_->version;
    return CUPTI_SUCCESS;
  };
  api->GetTimestamp = [](uint64_t* timestamp) {
    ASKED("GetTimestamp");
    *timestamp = static_cast<uint64_t>(current_->Now());
    return CUPTI_SUCCESS;
  };
  api->Subscribe = [](CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
    ASKED("Subscribe");
    std::this_thread::sleep_for(std::chrono::milliseconds(current_->slow_ms));
    if (!current_->owner.empty() || current_->callback_.load() != nullptr) {
      return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    current_->callback_data_ = data;
    current_->callback_ = callback;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(current_->subscriber_ += 16);
    return CUPTI_SUCCESS;
  };
  api->Subscribe_v2 = [](CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                         CUpti_SubscriberParams* params) {
    ASKED("Subscribe_v2");
    std::strncpy(params->oldSubscriberName, current_->owner.c_str(), params->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  };
}

void FakeCupti::FillSwitches(Api* api) const {
  api->Unsubscribe = [](CUpti_SubscriberHandle subscriber) {
    ASKED("Unsubscribe");
    if (subscriber == nullptr || subscriber != current_->subscriber())
      return CUPTI_ERROR_INVALID_PARAMETER;
    current_->ForgetSubscriber();
    return CUPTI_SUCCESS;
  };
  api->EnableDomain = [](uint32_t on, CUpti_SubscriberHandle subscriber,
                         CUpti_CallbackDomain domain) {
    ASKED("EnableDomain");
    if (subscriber == nullptr || subscriber != current_->subscriber())
      return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard<std::mutex> lock(current_->mutex_);
    current_->on_[domain].clear();
    current_->off_[domain].clear();
    if (on != 0) {
      current_->domains_.insert(domain);
    } else {
      current_->domains_.erase(domain);
    }
    return CUPTI_SUCCESS;
  };
  api->EnableCallback = [](uint32_t on, CUpti_SubscriberHandle subscriber,
                           CUpti_CallbackDomain domain, CUpti_CallbackId call) {
    ASKED("EnableCallback");
    if (subscriber == nullptr || subscriber != current_->subscriber())
      return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard<std::mutex> lock(current_->mutex_);
    (on != 0 ? current_->on_ : current_->off_)[domain].insert(call);
    (on != 0 ? current_->off_ : current_->on_)[domain].erase(call);
    return CUPTI_SUCCESS;
  };
}

void FakeCupti::ForgetSubscriber() {
  callback_ = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  domains_.clear();
  on_.clear();
  off_.clear();
}

void FakeCupti::Finalize() {
  ForgetSubscriber();
  const std::lock_guard<std::recursive_mutex> lock(buffers_mutex_);
  {
    const std::lock_guard<std::mutex> enabled(mutex_);
    kinds.clear();
  }
  filling_.clear();
  request_ = nullptr;
  complete_ = nullptr;
}

void FakeCupti::FillActivities(Api* api) const {
  api->ActivityRegisterTimestampCallback = [](CUpti_TimestampCallbackFunc clock) {
    ASKED("ActivityRegisterTimestampCallback");
    if (current_->takes_our_clock) current_->clock_ = clock;
    return CUPTI_SUCCESS;
  };
  api->ActivityRegisterCallbacks = [](CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete) {
    ASKED("ActivityRegisterCallbacks");
    current_->request_ = request;
    current_->complete_ = complete;
    return CUPTI_SUCCESS;
  };
  api->ActivityEnable = [](CUpti_ActivityKind kind) {
    ASKED("ActivityEnable");
    const auto refused = current_->refuse_kind.find(kind);
    if (refused != current_->refuse_kind.end()) return refused->second;
    const std::lock_guard<std::mutex> lock(current_->mutex_);
    current_->kinds.insert(kind);
    return CUPTI_SUCCESS;
  };
  api->ActivityDisable = [](CUpti_ActivityKind kind) {
    ASKED("ActivityDisable");
    const std::lock_guard<std::mutex> lock(current_->mutex_);
    current_->kinds.erase(kind);
    return CUPTI_SUCCESS;
  };
  api->ActivityFlushAll = [](uint32_t flag) {
    ASKED("ActivityFlushAll");
    current_->FlushAll((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    return CUPTI_SUCCESS;
  };
  api->ActivityGetNextRecord = &FakeCupti::NextRecord;
  api->ActivityGetNumDroppedRecords = [](CUcontext, uint32_t, size_t* dropped) {
    ASKED("ActivityGetNumDroppedRecords");
    std::lock_guard<std::mutex> lock(current_->mutex_);
    *dropped = current_->dropped_ + current_->drop;
    current_->dropped_ = current_->drop = 0;
    return CUPTI_SUCCESS;
  };
  api->ActivityGetStructSize = [](CUpti_ActivityKind kind, uint32_t, size_t* bytes) {
    ASKED("ActivityGetStructSize");
    *bytes = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? current_->kernel_bytes : 64;
    return CUPTI_SUCCESS;
  };
}

CUptiResult FakeCupti::NextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  ASKED("ActivityGetNextRecord");
  std::lock_guard<std::mutex> lock(current_->mutex_);
  const std::vector<size_t>& starts = current_->handed_back_[buffer];
  size_t next = 0;
  if (*record != nullptr) {
    const size_t at = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer);
    next = static_cast<size_t>(std::lower_bound(starts.begin(), starts.end(), at) - starts.begin());
    ++next;
  }
  if (next >= starts.size() || starts[next] >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + starts[next]);
  return CUPTI_SUCCESS;
}
#undef ASKED

int FakeCupti::CallsInAll() const {
  int count = 0;
  for (const auto& [function, times] : asked) count += times;
  return count;
}

bool FakeCupti::CallsBack(CUpti_CallbackDomain domain, CUpti_CallbackId call) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto has = [&](const auto& sets) {
    const auto found = sets.find(domain);
    return found != sets.end() && found->second.count(call) != 0;
  };
  return has(on_) || (domains_.count(domain) != 0 && !has(off_));
}

int64_t FakeCupti::Now() const {
  if (const auto clock = clock_.load()) return static_cast<int64_t>(clock());
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + clock_offset_ns;
}

void FakeCupti::CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId call, const char* function,
                         CUpti_ApiCallbackSite site, uint32_t id) {
  const CUpti_CallbackFunc callback = callback_;
  if (callback == nullptr || !CallsBack(domain, call)) return;
  CUpti_CallbackData data = {};
  data.callbackSite = site;
  data.functionName = function;
  data.correlationId = id;
  data.context = Context();
  callback(callback_data_, domain, call, &data);
}

void FakeCupti::DestroyContext() {
  constexpr CUpti_CallbackId kGoes = CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
  const CUpti_CallbackFunc callback = callback_;
  if (callback == nullptr || !CallsBack(CUPTI_CB_DOMAIN_RESOURCE, kGoes)) return;
  CUpti_ResourceData data = {};
  data.context = Context();
  callback(callback_data_, CUPTI_CB_DOMAIN_RESOURCE, kGoes, &data);
}

uint32_t FakeCupti::Launch() {
  return Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
              "cudaLaunchKernel", [](uint32_t) {});
}

uint32_t FakeCupti::LaunchGraph() {
  return Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
              "cudaGraphLaunch", [](uint32_t) {});
}

CUpti_ActivityKernel7 FakeCupti::Kernel(uint32_t correlation, int64_t begin_ns, int64_t end_ns) {
  CUpti_ActivityKernel7 kernel = {};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = static_cast<uint64_t>(begin_ns);
  kernel.end = static_cast<uint64_t>(end_ns);
  kernel.contextId = 1;
  kernel.streamId = 7;
  kernel.gridX = 64;
  kernel.gridY = kernel.gridZ = 1;
  kernel.blockX = 32;
  kernel.blockY = 4;
  kernel.blockZ = 1;
  kernel.registersPerThread = 40;
  kernel.correlationId = correlation;
  kernel.name = "_Z6kernelPf";
  return kernel;
}

void FakeCupti::PutBytes(const void* record, size_t bytes, CUpti_ActivityKind kind, int thread) {
  // First: a flush behind a kind's end finds what was put while it was on.
  std::lock_guard<std::recursive_mutex> lock(buffers_mutex_);
  {
    const std::lock_guard<std::mutex> enabled(mutex_);
    if (kinds.count(kind) == 0) return;
  }
  bytes = (bytes + 7) / 8 * 8;
  if (filling_.count(thread) != 0 && filling_[thread].valid + bytes > filling_[thread].bytes) {
    Finish(thread);
  }
  if (filling_.count(thread) == 0) {
    Buffer made = {};
    size_t most = 0;
    const auto request = request_.load();
    if (request == nullptr) return;
    request(&made.memory, &made.bytes, &most);
    if (made.memory == nullptr) {
      std::lock_guard<std::mutex> counting(mutex_);
      ++dropped_;
      return;
    }
    filling_[thread] = made;
  }
  Buffer& buffer = filling_[thread];
  std::memcpy(buffer.memory + buffer.valid, record, bytes);
  buffer.starts.push_back(buffer.valid);
  buffer.valid += bytes;
}

void FakeCupti::Finish(int thread) {
  std::lock_guard<std::recursive_mutex> lock(buffers_mutex_);
  const auto at = filling_.find(thread);
  if (at == filling_.end()) return;
  const Buffer buffer = at->second;
  filling_.erase(at);
  if (hold_back) {
    held_.push_back(buffer);
  } else {
    HandBack(buffer);
  }
}

void FakeCupti::HandBack(Buffer buffer) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    handed_back_[buffer.memory] = buffer.starts;
  }
  complete_.load()(nullptr, 0, buffer.memory, buffer.bytes, buffer.valid);
}

void FakeCupti::FlushAll(bool forced) {
  std::lock_guard<std::recursive_mutex> lock(buffers_mutex_);
  std::vector<int> threads;
  for (const auto& [thread, buffer] : filling_) {
    if (forced || !incomplete_[thread]) threads.push_back(thread);
  }
  for (const int thread : threads) Finish(thread);
}

void FakeCupti::Release() {
  std::lock_guard<std::recursive_mutex> lock(buffers_mutex_);
  for (; !held_.empty(); held_.pop_front()) HandBack(held_.front());
}

}  // namespace crosscut::cupti
