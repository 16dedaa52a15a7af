#include "metrics.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "errors.h"

namespace crosscut::cupti {
namespace {

// CUPTI calls the driver in turn, and that calls us.
__thread bool in_cupti __attribute__((tls_model("initial-exec"))) = false;

struct InCupti {
  InCupti() { in_cupti = true; }
  ~InCupti() { in_cupti = false; }
  InCupti(const InCupti&) = delete;
  InCupti& operator=(const InCupti&) = delete;
};

bool IsName(const char* text) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  return text[0] != '\0' && text[std::strspn(text, kAllowed)] == '\0';
}

// What is missing of `api`; null: nothing.
const char* Absent(const Api& api) {
  const char* absent = nullptr;
#define ABSENT(name) \
  if (api.name == nullptr) absent = "cupti" #name;
  CROSSCUT_CUPTI_METRICS(ABSENT)
#undef ABSENT
  return absent;
}

constexpr std::string_view kBetween = ", ";

// Of names that are joined; `*names` begins behind it.
std::string_view First(std::string_view* names) {
  const size_t end = names->find(kBetween);
  const std::string_view first = names->substr(0, end);
  names->remove_prefix(end == names->npos ? names->size() : end + kBetween.size());
  return first;
}

}  // namespace

bool Metrics::Split(const char* names) {
  const size_t bytes = std::strlen(names) + 1;
  names_text_.reset(new (std::nothrow) char[bytes]);
  if (names_text_ == nullptr) return false;
  std::memcpy(names_text_.get(), names, bytes);
  char* rest = nullptr;
  for (char* name = strtok_r(names_text_.get(), "+", &rest); name != nullptr;
       name = strtok_r(nullptr, "+", &rest)) {
    if (asked_.count == RangeProfiler::kMostMetrics) {
      too_many_ = true;
      break;
    }
    if (IsName(name)) {
      names_[asked_.count++] = name;
    } else {
      NameUnknown(name);
    }
  }
  return asked_.count != 0;
}

void Metrics::Renew() {
  too_many_ = false;
  for (auto* count :
       {&launches_, &measured_, &overlapped_, &several_, &empty_, &failed_, &taken_, &passes_}) {
    count->store(0);
  }
  why_[0] = unknown_[0] = '\0';
}

bool Metrics::Knows(const MetricOptions& options) const {
  const char *now = options_.names, *then = options.names;
  if (now == nullptr || then == nullptr) return now == then;
  return std::strcmp(now, then) == 0 && options_.per_kernel == options.per_kernel &&
         options_.replay == options.replay;
}

void Metrics::Ask(const crosscut_host* host, const MetricOptions& options, uint32_t flows) {
  host_ = host;
  options_ = options;
  asked_ = {names_, 0, options.per_kernel, options.replay};
  if (options.names == nullptr) return;
  if (!Split(options.names)) return Refuse("option metrics: names joined by + are wanted");
  if (places_ == nullptr) places_.reset(new (std::nothrow) Place[kMostContexts]);
  if (places_ == nullptr) return Refuse("there is no memory for them");
  if (!has_values_) values_.Prepare(flows);
  has_values_ = true;
}

void Metrics::Refuse(const char* why) {
  const std::lock_guard lock(words_mutex_);
  if (why_[0] == '\0') std::snprintf(why_, sizeof why_, "%s", why);
}

// Each once, for devices are mostly alike.
void Metrics::NameUnknown(const char* names) {
  const std::lock_guard lock(words_mutex_);
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = First(&rest);
    bool known = false;
    for (std::string_view told = unknown_; !told.empty() && !known;) known = First(&told) == name;
    if (known) continue;
    const size_t used = std::strlen(unknown_);
    std::snprintf(unknown_ + used, sizeof unknown_ - used, "%s%.*s",
                  used == 0 ? "" : kBetween.data(), static_cast<int>(name.size()), name.data());
  }
}

void Metrics::Begin(const Api* api, bool hears) {
  if (!is_asked() || places_ == nullptr || measures()) return;
  api_ = api;
  values_.Clear();
  for (uint32_t i = 0; i < kMostContexts; ++i) {
    places_[i].context.store(nullptr);
    places_[i].begun.store(0);
    places_[i].inside.store(0);
    places_[i].is_tried.store(false);
  }
  if (!hears) {
    return Refuse("calls of CUDA are not heard (options calls, driver; or another profiler)");
  }
  if (const char* absent = Absent(*api)) {
    char why[200];
    std::snprintf(why, sizeof why,
                  "this libcupti has no %s: use one of CUDA 12.6 or newer (option library)",
                  absent);
    return Refuse(why);
  }
  measures_.store(true);
}

void Metrics::End() {
  if (!measures()) return;
  measures_.store(false);
  // Who is in a launch that is measured closes it meanwhile; for a tenth of a second.
  for (int naps = 0; naps < 100; ++naps) {
    bool any = false;
    for (uint32_t i = 0; i < kMostContexts; ++i) {
      if (!places_[i].mutex.try_lock()) {
        any = true;
        continue;
      }
      any = any || (asked_.per_kernel && places_[i].is_measuring);
      places_[i].mutex.unlock();
    }
    if (!any) break;
    const timespec nap = {0, 1'000'000};
    nanosleep(&nap, nullptr);
  }
  session_.fetch_add(1);
  const std::lock_guard none_is_added(adding_);
  for (uint32_t i = 0; i < kMostContexts; ++i) {
    const std::lock_guard lock(places_[i].mutex);
    Close(&places_[i]);
  }
  if (is_initialized_) {
    const InCupti here;
    CUpti_Profiler_DeInitialize_Params params = {CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE,
                                                 nullptr};
    api_->ProfilerDeInitialize(&params);
    is_initialized_ = false;
  }
}

// Null where there is none and `add` is false, or where there are too many.
Metrics::Place* Metrics::Find(CUcontext context, bool add) {
  for (uint32_t i = 0; i < kMostContexts; ++i) {
    CUcontext at = places_[i].context.load(std::memory_order_acquire);
    if (at == nullptr && !add) return nullptr;
    if (at == nullptr && places_[i].context.compare_exchange_strong(at, context)) at = context;
    if (at == context) return &places_[i];
  }
  return nullptr;
}

// Where another thread opens one, later.
void Metrics::OpenOnce(Place* place) {
  if (place->is_tried.load(std::memory_order_relaxed) || !adding_.try_lock()) return;
  {
    const std::lock_guard lock(place->mutex);
    if (measures() && !place->is_tried.exchange(true)) Open(place);
  }
  adding_.unlock();
}

void Metrics::Open(Place* place) {
  const InCupti here;
  if (!is_initialized_) {
    CUpti_Profiler_Initialize_Params params = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE,
                                               nullptr};
    const CUptiResult result = api_->ProfilerInitialize(&params);
    is_initialized_ = result == CUPTI_SUCCESS;
    char why[300];
    Describe("cuptiProfilerInitialize", result, why, sizeof why);
    if (!is_initialized_) return Refuse(why);
  }
  RangeProfiler& profiler = place->profiler;
  bool good = profiler.Open(api_, place->context.load(), asked_);
  if (profiler.unknown()[0] != '\0') NameUnknown(profiler.unknown());
  if (good && !asked_.per_kernel) {
    good = place->is_measuring = profiler.Start();
    if (!good) profiler.Close();
  }
  if (!good) return Refuse(profiler.why());
  passes_.store(profiler.passes());
}

Metrics::Ticket Metrics::Enter(CUcontext context, bool measure) {
  if (in_cupti || context == nullptr) return {};
  const uint32_t session = session_.load();
  if (measure && asked_.per_kernel) launches_.fetch_add(1, std::memory_order_relaxed);
  Place* place = Find(context, true);
  if (place == nullptr) {
    Refuse("the program has more CUDA contexts than are measured");
    return {};
  }
  if (measure) OpenOnce(place);
  if (!asked_.per_kernel) return {};
  const bool alone = place->inside.fetch_add(1) == 0;
  Ticket ticket = {session, static_cast<uint32_t>(place - places_.get()) + 1,
                   place->begun.fetch_add(1) + 1, false};
  if (!measure) return ticket;
  if (!alone || !place->mutex.try_lock()) {
    overlapped_.fetch_add(1, std::memory_order_relaxed);
    return ticket;
  }
  if (measures() && place->profiler.is_open() && !place->is_measuring) {
    const InCupti here;
    ticket.is_measured = place->is_measuring = place->profiler.Start();
    if (ticket.is_measured) {
      opened_.fetch_add(1);
    } else {
      Refuse(place->profiler.why());
      place->profiler.Close();
    }
  }
  place->mutex.unlock();
  return ticket;
}

void Metrics::Exit(const Ticket& ticket, uint64_t flow) {
  if (ticket.place == 0 || ticket.session != session_.load()) return;
  Place& place = places_[ticket.place - 1];
  if (ticket.is_measured && place.mutex.try_lock()) {
    if (ticket.session == session_.load() && place.is_measuring) Measure(&place, ticket, flow);
    place.mutex.unlock();
  }
  place.inside.fetch_sub(1);
}

void Metrics::Measure(Place* place, const Ticket& ticket, uint64_t flow) {
  const InCupti here;
  RangeProfiler& profiler = place->profiler;
  size_t ranges = 0;
  place->is_measuring = false;
  const double* values = nullptr;
  if (profiler.Stop(&ranges)) {
    if (place->begun.load() != ticket.begun) {
      overlapped_.fetch_add(1);
    } else if (ranges != 1) {
      (ranges == 0 ? empty_ : several_).fetch_add(1);
    } else if ((values = profiler.Values()) != nullptr) {
      const uint32_t word = WordOf(place, values, false);
      if (word != 0) {
        values_.Put(Key(flow), word);
        measured_.fetch_add(1);
      } else {
        failed_.fetch_add(1);
      }
    }
  }
  closed_.fetch_add(1);
  if (profiler.why()[0] == '\0') return;
  Refuse(profiler.why());
  profiler.Close();
}

void Metrics::AwaitOpen() const {
  const uint64_t opened = opened_.load();
  for (int naps = 0; naps < 3000 && closed_.load() < opened; ++naps) {
    const timespec nap = {0, 100'000};
    nanosleep(&nap, nullptr);
  }
}

// Its numbers are the shortest that are these values again.
uint32_t Metrics::WordOf(Place* place, const double* values, bool units) {
  const RangeProfiler& profiler = place->profiler;
  char* at = place->text;
  char* const end = place->text + sizeof place->text;
  const auto add = [&](auto... parts) {
    at += std::min<ptrdiff_t>(std::snprintf(at, static_cast<size_t>(end - at), parts...), end - at);
  };
  add("{\"metric_passes\": %zu", profiler.passes());
  for (size_t i = 0; i < profiler.count(); ++i) {
    if (values != nullptr && std::isfinite(values[i])) {
      char number[40] = {};
      std::to_chars(number, number + sizeof number - 1, values[i]);
      add(", \"%s\": %s", profiler.name(i), number);
    }
    if (units) add(", \"%s unit\": \"%s\"", profiler.name(i), profiler.unit(i));
  }
  add("}");
  return at < end - 1 ? host_->word(host_->host, place->text, SIZE_MAX) : 0;
}

void Metrics::Close(Place* place) {
  const InCupti here;
  RangeProfiler& profiler = place->profiler;
  if (!profiler.is_open()) return;
  const double* values = nullptr;
  if (place->is_measuring) {
    size_t ranges = 0;
    if (profiler.Stop(&ranges) && !asked_.per_kernel && ranges == 1) values = profiler.Values();
    if (profiler.why()[0] != '\0') Refuse(profiler.why());
    if (asked_.per_kernel) closed_.fetch_add(1);
  }
  place->is_measuring = false;
  if (values != nullptr || measured_ != 0) place->window = WordOf(place, values, true);
  profiler.Close();
}

void Metrics::Forget(CUcontext context) {
  if (!measures() || in_cupti) return;
  Place* place = Find(context, false);
  if (place == nullptr || !place->mutex.try_lock()) return;
  Close(place);
  // Its address may come again, with another context at it.
  place->context.store(reinterpret_cast<CUcontext>(place));
  place->mutex.unlock();
}

uint32_t Metrics::Take(uint64_t flow) {
  const uint64_t word = flow == 0 ? 0 : values_.Find(Key(flow));
  if (word == 0 || word == kTaken) return 0;
  values_.Put(Key(flow), kTaken);
  taken_.fetch_add(1);
  return static_cast<uint32_t>(word);
}

uint32_t Metrics::TakeWindow() {
  for (uint32_t i = 0; places_ != nullptr && i < kMostContexts; ++i) {
    if (places_[i].window != 0) return std::exchange(places_[i].window, 0);
  }
  return 0;
}

bool Metrics::AddOutcome(char* text, size_t bytes) {
  const std::lock_guard lock(words_mutex_);
  text[0] = '\0';
  size_t used = 0;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(text + used, bytes - used, format, values...);
    used = std::strlen(text);
  };
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  if (why_[0] != '\0') add("hardware metrics are missing: %s; ", why_);
  if (unknown_[0] != '\0') {
    add("this device has no metric %s (ncu --query-metrics names those it has); ", unknown_);
  }
  if (too_many_) add("metrics behind the %zuth are left out; ", RangeProfiler::kMostMetrics);
  const uint64_t launches = launches_.load(), measured = measured_.load(), empty = empty_.load(),
                 taken = taken_.load();
  if (launches != 0) {
    add("hardware metrics of %llu of %llu launches of kernels (passes: %llu)", number(measured),
        number(launches), number(passes_.load()));
    if (overlapped_ != 0) add(", not of %llu beside another thread's", number(overlapped_));
    if (several_ != 0) add(", not of %llu with several kernels", number(several_));
    if (empty != 0) add(", not of %llu that ran none then", number(empty));
    if (failed_ != 0) add(", not of %llu for want of memory", number(failed_));
    if (taken < measured) add(", %llu without their kernel's record", number(measured - taken));
    add("; ");
  }
  return why_[0] != '\0' || unknown_[0] != '\0' || too_many_ || taken + empty != launches;
}

}  // namespace crosscut::cupti
