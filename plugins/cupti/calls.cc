#include "calls.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <new>

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

// Of a call that gives work.
CallKind KindOfWork(const char* function) {
  if (std::strstr(function, "Launch") != nullptr) return kLaunchCall;
  return std::strstr(function, "Memset") != nullptr ? kSetCall : kCopyCall;
}

bool Holds(const char* function, const char* part) {
  return std::strstr(function, part) != nullptr;
}

// Whether a call that gives work launches a kernel.
bool LaunchesKernel(const char* function) {
  return Holds(function, "Launch") && !Holds(function, "Graph");
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

}  // namespace

// What it calls in turn is not recorded, and told by its id.
struct Calls::Open {
  uint32_t session, correlation;
  CUpti_CallbackDomain domain;
  bool is_open;
  uint64_t flow;
  Metrics::Ticket ticket;
  // The session in which the call's span was begun; 0: none is open. For other threads.
  std::atomic<uint32_t> span_of;
  std::atomic<bool> has_thread;
  Open* next;
};

namespace {

using Open = Calls::Open;

// Of every thread that called, those that ended among them; never freed.
std::atomic<Open*> all_opens{nullptr};

// The calling thread's, given back when it ends. Null without memory for it.
class Mine {
 public:
  Mine() {
    for (open_ = all_opens.load(); open_ != nullptr; open_ = open_->next) {
      bool has_thread = false;
      if (open_->has_thread.compare_exchange_strong(has_thread, true)) return;
    }
    open_ = new (std::nothrow) Open{};
    if (open_ == nullptr) return;
    open_->has_thread.store(true);
    open_->next = all_opens.load();
    while (!all_opens.compare_exchange_weak(open_->next, open_)) {
    }
  }
  ~Mine() {
    if (open_ == nullptr) return;
    open_->is_open = false;
    open_->span_of.store(0);
    open_->has_thread.store(false);
  }
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;
  Open* get() const { return open_; }

 private:
  Open* open_;
};

Open* MyOpen() {
  thread_local const Mine mine;
  return mine.get();
}

// Every thread of the process has passed a barrier when this returns: what each stored before is
// seen here, and it sees what was stored here. Where the kernel has no such call, it is likely.
void PassBarrierEverywhere() {
  constexpr int kRegister = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  if (syscall(SYS_membarrier, kRegister, 0, 0) == 0 &&
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) {
    return;
  }
  static std::atomic<int> barrier = 0;  // ThreadSanitizer knows no fences
  barrier.fetch_add(1);
  usleep(2000);
}

}  // namespace

void Calls::Change(uint8_t keep, uint8_t set) {
  uint8_t state = state_.load(std::memory_order_relaxed);
  while (!state_.compare_exchange_weak(state, static_cast<uint8_t>((state & keep) | set))) {
  }
}

int Calls::AwaitNone(int64_t patience_ns) {
  PassBarrierEverywhere();
  constexpr int64_t kNapNs = 100'000;
  for (int64_t left = patience_ns;; left -= kNapNs) {
    int open = 0;
    const uint32_t session = session_.load(std::memory_order_relaxed);
    for (const Open* one = all_opens.load(); one != nullptr; one = one->next) {
      open += one->span_of.load() == session ? 1 : 0;
    }
    if (open == 0) return 0;
    if (left <= 0) {
      Renew();
      return open;
    }
    usleep(kNapNs / 1000);
  }
}

void Calls::Prepare(const crosscut_host* host, const Options& options, CorrelationTable* launches,
                    Metrics* metrics) {
  host_ = host;
  launches_ = launches;
  metrics_ = metrics;
  runtime_ = options.calls;
  driver_ = options.calls && options.driver;
  for (size_t kind = 0; kind < kCallKinds; ++kind) {
    probes_[kind] = host->probe(host->host, kCallProbes[kind]);
  }
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
  const uint8_t state = state_.load(std::memory_order_relaxed);
  if ((state & kModes) == kOff) return;
  Open* open = MyOpen();
  if (open == nullptr) return;
  if ((state & kLeavesOut) != 0) {
    LeaveOut(open, domain, call, data);
  } else {
    Begin(open, domain, call, data);
  }
}

void Calls::Begin(Open* open, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                  const CUpti_CallbackData* data) {
  const uint32_t session = session_.load(std::memory_order_relaxed);
  if (open->is_open && open->session == session) {
    // The runtime calls the driver: one span, but records may carry either's id.
    if (open->flow != 0) launches_->Put(data->correlationId, open->flow);
    return;
  }
  const uint32_t name = NameOf(domain, call, data->functionName);
  open->span_of.store(session, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // AwaitNone() has the other half
  const uint8_t mode = state_.load(std::memory_order_relaxed) & kModes;
  if (mode == kOff) {
    open->span_of.store(0, std::memory_order_relaxed);
    return;
  }
  open->ticket = {};
  if ((name & kLaunches) != 0 && metrics_->measures()) {
    open->ticket = metrics_->Enter(data->context, (name & kKernels) != 0);
  }
  host_->begin(host_->host, name & ~(kLaunches | kKernels));
  const uint64_t flow = (name & kLaunches) != 0 ? host_->flow_out(host_->host) : 0;
  open->session = session;
  open->correlation = data->correlationId;
  open->domain = domain;
  open->is_open = true;
  open->flow = flow;
  if (flow == 0) return;
  launches_->Put(data->correlationId, flow);
  if (mode == kCount) counted_.fetch_add(1, std::memory_order_relaxed);
}

// What a call does in turn belongs to the call, even if the step ends meanwhile. Whether it gives
// work is not asked: that takes longer than to keep one word more.
void Calls::LeaveOut(Open* open, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                     const CUpti_CallbackData* data) {
  const uint32_t session = session_.load(std::memory_order_relaxed);
  if (!open->is_open || open->session != session) {
    open->session = session;
    open->correlation = data->correlationId;
    open->domain = domain;
    open->is_open = true;
    open->flow = kLeftOut;
    open->ticket = {};
    if (metrics_->measures() && (NameOf(domain, call, data->functionName) & kLaunches) != 0) {
      open->ticket = metrics_->Enter(data->context, false);
    }
  }
  if (open->flow != 0) launches_->Put(data->correlationId, open->flow);
}

void Calls::End(CUpti_CallbackDomain domain, uint32_t correlation) {
  Open* open = MyOpen();
  if (open == nullptr || !open->is_open || open->correlation != correlation ||
      open->domain != domain) {
    return;
  }
  open->is_open = false;
  if (open->flow != kLeftOut) {
    if (open->session == session_.load(std::memory_order_relaxed)) host_->end(host_->host);
    open->span_of.store(0, std::memory_order_release);
  }
  metrics_->Exit(open->ticket, open->flow);
}

uint32_t Calls::Intern(const char* function) const {
  if (function == nullptr) function = "(CUDA call)";
  const bool gives = GivesWork(function);
  const uint32_t probe = probes_[gives ? KindOfWork(function) : kOtherCall];
  const uint32_t id = host_->name(host_->host, function, SIZE_MAX, CROSSCUT_ON_HOST_RUNTIME, probe);
  if (!gives) return id;
  return LaunchesKernel(function) ? id | kLaunches | kKernels : id | kLaunches;
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
  const uint8_t before = state_.exchange(kRecord, std::memory_order_relaxed);
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
  state_.store(before, std::memory_order_relaxed);
  std::sort(total.begin(), total.end());
  const int64_t all = total[kRounds / 2];
  // Begin's stamp comes before the arrow is kept, end's at the end: two thirds lie between them.
  const int64_t inside = all * 2 / 3;
  for (const uint32_t probe : probes_) {
    host_->probe_cost(host_->host, probe, inside, all - inside, total[kLow], total[kHigh],
                      int64_t{kRounds} * kCalls);
  }
}

void Calls::Tell(const Inflation& inflation) {
  for (size_t kind = 0; kind < kCallKinds; ++kind) {
    const Inflation::OfKind& of = inflation.kinds[kind];
    if (of.ps <= 0) continue;
    char probe[64];
    std::snprintf(probe, sizeof probe, "%s, also in control steps", kCallProbes[kind]);
    host_->probe_cost(host_->host, host_->probe(host_->host, probe), of.ps, 0, of.low_ps,
                      of.high_ps, of.samples);
  }
}

}  // namespace crosscut::cupti
