#include "calls.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace crosscut::cupti {
namespace {

// Calls that frameworks make by the million, and that neither wait nor give a device work.
constexpr CUpti_CallbackId kUninteresting[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventCreate_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventDestroy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_v11030,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
    CUPTI_RUNTIME_TRACE_CBID_cudaThreadExchangeStreamCaptureMode_v10010,
    // Around every launch that a compiler wrote, seen since CUDA 13.
    CUPTI_RUNTIME_TRACE_CBID___cudaPushCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaPopCallConfiguration_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaGetKernel_v13000,
};

// Of the driver's calls only those that give a device work or wait for it: the runtime makes many
// of the others inside its own.
constexpr CUpti_CallbackId kDriverCalls[] = {
#include "driver_calls.inc"  // made by CMakeLists.txt
};

bool Holds(const char* function, const char* part) {
  return std::strstr(function, part) != nullptr;
}

// Whether work with the call's correlation id may follow. What builds or changes a graph gives no
// work; a function of the host's has no record.
bool GivesWork(const char* function) {
  if (Holds(function, "GraphLaunch")) return true;
  if (Holds(function, "Graph") || Holds(function, "HostFunc")) return false;
  constexpr const char* kParts[] = {"Launch", "Memcpy", "Memset", "Prefetch"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](const char* part) { return Holds(function, part); });
}

// The call that a thread is in. What it calls in turn is not recorded, and told by its id.
struct Open {
  uint32_t session, correlation;
  CUpti_CallbackDomain domain;
  bool is_open;
  uint64_t flow;
};
thread_local Open open_call;

}  // namespace

void Calls::Prepare(const crosscut_host* host, const Options& options, CorrelationTable* launches) {
  host_ = host;
  launches_ = launches;
  runtime_ = options.calls;
  driver_ = options.calls && options.driver;
  probe_ = host->probe(host->host, "CUDA call");
}

CUptiResult Calls::Enable(const Api& api, CUpti_SubscriberHandle subscriber) {
  CUptiResult first = CUPTI_SUCCESS;
  if (runtime_) {
    first = api.EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    for (const CUpti_CallbackId call : kUninteresting) {
      // Where it is refused there is a span too many.
      (void)api.EnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, call);
    }
  }
  if (driver_) {
    for (const CUpti_CallbackId call : kDriverCalls) {
      const CUptiResult result =
          api.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
      // The running CUPTI may be older than the call.
      if (first == CUPTI_SUCCESS && result != CUPTI_ERROR_INVALID_PARAMETER) first = result;
    }
  }
  return first;
}

CUptiResult Calls::Disable(const Api& api, CUpti_SubscriberHandle subscriber) {
  CUptiResult first = CUPTI_SUCCESS;
  if (runtime_) first = api.EnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  if (driver_) {
    const CUptiResult result = api.EnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    if (first == CUPTI_SUCCESS) first = result;
  }
  return first;
}

void Calls::On(CUpti_CallbackDomain domain, CUpti_CallbackId call, const CUpti_CallbackData* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  if (data->callbackSite == CUPTI_API_EXIT) {
    End(domain, data->correlationId);
    return;
  }
  const Mode mode = mode_.load(std::memory_order_relaxed);
  if (mode == kRecord) {
    Begin(domain, call, data);
  } else if (mode == kLeaveOut) {
    LeaveOut(domain, data->correlationId);
  }
}

void Calls::Begin(CUpti_CallbackDomain domain, CUpti_CallbackId call,
                  const CUpti_CallbackData* data) {
  Open& open = open_call;
  const uint32_t session = session_.load(std::memory_order_relaxed);
  if (open.is_open && open.session == session) {
    // The runtime calls the driver: one span, but records may carry either's id.
    if (open.flow != 0) launches_->Put(data->correlationId, open.flow);
    return;
  }
  const uint32_t name = NameOf(domain, call, data->functionName);
  host_->begin(host_->host, name & ~kLaunches);
  const uint64_t flow = (name & kLaunches) != 0 ? host_->flow_out(host_->host) : 0;
  open = {session, data->correlationId, domain, true, flow};
  if (flow != 0) launches_->Put(data->correlationId, flow);
}

// What a call does in turn belongs to the call, even if the step ends meanwhile. Whether it gives
// work is not asked: that takes longer than to keep one word more.
void Calls::LeaveOut(CUpti_CallbackDomain domain, uint32_t correlation) {
  Open& open = open_call;
  const uint32_t session = session_.load(std::memory_order_relaxed);
  if (!open.is_open || open.session != session) {
    open = {session, correlation, domain, true, kLeftOut};
  }
  if (open.flow != 0) launches_->Put(correlation, open.flow);
}

void Calls::End(CUpti_CallbackDomain domain, uint32_t correlation) {
  Open& open = open_call;
  if (!open.is_open || open.correlation != correlation || open.domain != domain) return;
  open.is_open = false;
  if (open.flow == kLeftOut) return;
  if (open.session == session_.load(std::memory_order_relaxed)) host_->end(host_->host);
}

uint32_t Calls::Intern(const char* function) const {
  if (function == nullptr) function = "(CUDA call)";
  const uint32_t id =
      host_->name(host_->host, function, SIZE_MAX, CROSSCUT_ON_HOST_RUNTIME, probe_);
  return GivesWork(function) ? id | kLaunches : id;
}

uint32_t Calls::NameOf(CUpti_CallbackDomain domain, CUpti_CallbackId call, const char* function) {
  if (call >= kMostCalls) return Intern(function);
  std::atomic<uint32_t>& cached = names_[domain == CUPTI_CB_DOMAIN_RUNTIME_API][call];
  uint32_t name = cached.load(std::memory_order_relaxed);
  if (name == 0) {
    name = Intern(function);
    cached.store(name, std::memory_order_relaxed);
  }
  return name;
}

void Calls::Calibrate() {
  constexpr int kRounds = 21, kCalls = 200, kLow = 5, kHigh = 15;
  CUpti_CallbackData data = {};
  data.functionName = "cudaLaunchKernel";
  std::array<int64_t, kRounds> total;
  const Mode before = mode_.exchange(kRecord, std::memory_order_relaxed);
  for (int64_t& round : total) {
    const int64_t begin = host_->now_ns(host_->host);
    for (int i = 0; i < kCalls; ++i) {
      // Ids that the program's own calls do not have yet.
      data.correlationId = ~0u - static_cast<uint32_t>(i);
      data.callbackSite = CUPTI_API_ENTER;
      On(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
      data.callbackSite = CUPTI_API_EXIT;
      On(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
    }
    round = (host_->now_ns(host_->host) - begin) * 1000 / kCalls;
  }
  mode_.store(before, std::memory_order_relaxed);
  std::sort(total.begin(), total.end());
  const int64_t all = total[kRounds / 2];
  // Begin's stamp comes before the arrow is kept, end's at the end: two thirds lie between them.
  const int64_t inside = all * 2 / 3;
  host_->probe_cost(host_->host, probe_, inside, all - inside, total[kLow], total[kHigh],
                    int64_t{kRounds} * kCalls);
}

}  // namespace crosscut::cupti
