#include "session.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "errors.h"

namespace crosscut::cupti {
namespace {

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<Session*> buffer_owner{nullptr};

// Records that the plugin asks for, the indispensable first.
constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
constexpr CUpti_ActivityKind kNeeded[] = {kKernels};
struct OptionalKind {
  CUpti_ActivityKind kind;
  const char* what;
};
constexpr OptionalKind kWanted[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "memory sets"},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external ids"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "CUPTI's own cost"},
    {CUPTI_ACTIVITY_KIND_DEVICE, "device names"},
    {CUPTI_ACTIVITY_KIND_CONTEXT, "contexts"},
    {CUPTI_ACTIVITY_KIND_NAME, "stream names"},
};

int Length(const char* text) { return static_cast<int>(std::strlen(text)); }

}  // namespace

Session::Session(const crosscut_host* host) : host_(host), without_() {
  options_ = ReadOptions(host, complaint_, sizeof complaint_);
}

Session::Session(const crosscut_host* host, const Api& api) : Session(host) {
  api_ = api;
  has_api_ = true;
}

Session::~Session() {
  while (!AwaitAttachment(true)) {
  }
  Session* self = this;
  buffer_owner.compare_exchange_strong(self, nullptr);
}

bool Session::TakeTurn(int64_t patience_ns) {
  const int64_t end = MonotonicNs() + patience_ns;
  const std::lock_guard lock(attach_mutex_);
  for (int64_t left = patience_ns; has_turn_ && left > 0; left = end - MonotonicNs()) {
    turn_free_.Wait(&attach_mutex_, left);
  }
  if (has_turn_) return false;
  has_turn_ = true;
  return true;
}

void Session::EndTurn() {
  if (is_over_.exchange(false) && started_) StopInTurn();
  const std::lock_guard lock(attach_mutex_);
  has_turn_ = false;
  turn_free_.NotifyAll();
}

void Session::Start() {
  if (!TakeTurn(kPatienceNs)) {
    return Tell("failed", "the session began while another profiler was being given CUPTI");
  }
  is_over_.store(false);
  if (started_) StopInTurn();
  HearOfOthers();
  StartInTurn();
  EndTurn();
}

void Session::StartInTurn() {
  if (!AwaitAttachment()) {
    return Tell("failed", "CUPTI has not answered since the last session began");
  }
  started_ = true;
  is_away_ = has_tried_ = false;
  away_ns_ = deaf_since_ns_ = deaf_ns_ = 0;
  hand_overs_ = away_launches_ = cut_calls_ = 0;
  unanswered_.store(0);
  if (theirs_ == CROSSCUT_PROFILERS_NONE) who_[0] = '\0';
  metrics_.Renew();
  metrics_.Ask(host_, ReadMetricOptions(host_, complaint_, sizeof complaint_), options_.flows);
  calls_.Renew();
  launches_.Clear();
  {
    const std::lock_guard lock(records_mutex_);
    drops_ = lost_told_ = refusals_ = 0;
    records_.Renew();
    clock_ = Clock();
  }
  if (theirs_ != CROSSCUT_PROFILERS_NONE) return Follow();
  BeginAttachment();
}

void Session::BeginAttachment() {
  {
    const std::lock_guard lock(attach_mutex_);
    attaching_ = true;
    abandoned_ = false;
  }
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &AttachMain, this) != 0) {
    AttachMain(this);
  } else {
    pthread_detach(thread);
  }
  AwaitAttachment();
}

void* Session::AttachMain(void* self) {
  auto* session = static_cast<Session*>(self);
  session->has_tried_ = true;
  if (session->has_api_ || session->FindLibrary(Search::kEverywhere)) session->Attach();
  std::unique_lock lock(session->attach_mutex_);
  if (session->abandoned_) {
    lock.unlock();
    session->Detach();
    lock.lock();
  }
  session->attaching_ = false;
  session->attach_done_.NotifyAll();
  return nullptr;
}

bool Session::AwaitAttachment(bool abandon) {
  const int64_t end = MonotonicNs() + kPatienceNs;
  const std::lock_guard lock(attach_mutex_);
  for (int64_t left = kPatienceNs; attaching_ && left > 0; left = end - MonotonicNs()) {
    attach_done_.Wait(&attach_mutex_, left);
  }
  if (attaching_ && abandon) abandoned_ = true;
  return !attaching_;
}

void Session::Stop() {
  if (!TakeTurn(kStopPatienceNs)) {
    calls_.Set(Calls::kOff);
    is_over_.store(true);
    return Tell("failed", "the session ended while another profiler was being given CUPTI");
  }
  StopInTurn();
  EndTurn();
}

void Session::StopInTurn() {
  started_ = false;
  calls_.Set(Calls::kOff);
  if (!AwaitAttachment(true)) {
    return Tell("failed", "CUPTI did not answer before the session ended");
  }
  if (is_away_) {
    TellAway();
    Detach();
    return TellOutcome();
  }
  if (!is_attached()) return TellAgain();
  StopRecords();
  Detach();
  TellOutcome();
}

// Hands over what there is, and has CUPTI give back every buffer: what it is left with, another
// tool would get. The clock's last reading must come after the last record.
void Session::StopRecords() {
  metrics_.End();
  const auto take = [this] {
    const CUptiResult result = api_.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (result != CUPTI_SUCCESS) NoteWithout("the last flush", result);
    Drain(true);
    CountDrops();
  };
  take();
  DisableKinds();
  take();  // a thread that launched meanwhile may have a buffer that it asked for only now
  buffers_.Renew();  // what comes now is too late
  const std::lock_guard lock(records_mutex_);
  PushWindows();
  clock_.Read();
  clock_.Stop();
  attached_.store(false);
}

void Session::Flush() {
  if (!TakeTurn(0)) return;  // who has it flushes, or has CUPTI's next owner wait
  HearOfOthers();
  if (started_ && AwaitAttachment()) {
    if (!has_api_ && FindLibrary(Search::kLoadedOnly)) {
      has_tried_ = false;
      theirs_ == CROSSCUT_PROFILERS_NONE ? BeginAttachment() : Follow();
    } else if (theirs_ == CROSSCUT_PROFILERS_NONE) {
      TakeBack();
    }
    if (AwaitAttachment() && is_attached()) {
      if (subscriber_ == nullptr) HearAgain();
      const MetricOptions metrics = ReadMetricOptions(host_, complaint_, sizeof complaint_);
      const bool other_metrics = !metrics_.Knows(metrics);
      if (other_metrics) metrics_.End();
      const CUptiResult result = api_.ActivityFlushAll(0);
      if (result != CUPTI_SUCCESS) NoteWithout("a flush", result);
      Drain(true);
      CountDrops();
      if (other_metrics) MeasureOther(metrics);
      const std::lock_guard lock(records_mutex_);
      clock_.Read();
      flushed_ns_ = host_->now_ns(host_->host);
    }
  }
  EndTurn();
}

void Session::SetLevel(uint32_t level) {
  calls_.LeaveOut(level == 0);
  Pause(level);
}

void Session::Pause(uint32_t level) {
  const int64_t now = host_->now_ns(host_->host);
  std::lock_guard<std::mutex> lock(pauses_mutex_);
  if (level == 0) {
    pauses_.Begin(now);
  } else {
    pauses_.End(now);
  }
}

void Session::Calibrate() {
  if (!TakeTurn(kPatienceNs)) return;
  PrepareOnce();
  calls_.Calibrate();
  EndTurn();
}

bool Session::FindLibrary(Search search) {
  char why[320];
  has_api_ = LoadCupti(options_.library, search, &api_, why, sizeof why);
  if (!has_api_ && search == Search::kEverywhere) {
    const size_t used = std::strlen(why);
    if (metrics_.is_asked()) {
      std::snprintf(why + used, sizeof why - used, "; so there are no hardware metrics either");
    }
    Tell("missing", why);
  }
  return has_api_;
}

void Session::PrepareOnce() {
  if (prepared_) return;
  prepared_ = true;
  launches_.Prepare(options_.flows);
  calls_.Prepare(host_, options_, &launches_, &metrics_);
  std::lock_guard<std::mutex> lock(records_mutex_);
  records_.Prepare(host_, &launches_, &metrics_, options_.flows);
  buffers_.Prepare(options_.buffers, options_.buffer_bytes);
}

// Everything that can be refused comes before anything that the program could feel.
void Session::Attach() {
  without_[0] = '\0';
  uint32_t version = 0;
  CUptiResult result = api_.GetVersion(&version);
  version_ = version;
  if (result != CUPTI_SUCCESS) return TellError("cuptiGetVersion", result);
  if (version < kOldestVersion) {
    return Tell("missing", "this libcupti is older than CUDA 11.6, the oldest that is supported");
  }
  if (dlopen("libsanitizer-collection.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr) {
    return Tell("conflict",
                "compute-sanitizer checks this program, and CUPTI beside it is not "
                "supported: record without it");
  }
  if (subscriber_ == nullptr && !Subscribe()) return;
  PrepareOnce();
  if (!StartRecords()) return Detach();
  if (is_away_) TellAway();
  TellInflation();
  if (subscriber_ != nullptr) {
    EnableCalls();
  } else if (deaf_since_ns_ == 0) {
    deaf_since_ns_ = host_->now_ns(host_->host);
  }
  TellOutcome();
}

void Session::TellInflation() {
  Inflation inflation;
  if (options_.activities &&
      ReadInflation(options_.inflation, version_, &inflation, inflation_, sizeof inflation_)) {
    calls_.Tell(inflation);
  }
}

bool Session::StartRecords() {
  buffers_.Renew();
  CUptiResult result;
  {
    const std::lock_guard lock(records_mutex_);
    drops_since_ns_ = host_->now_ns(host_->host);
    result = clock_.Restart(host_, &api_, options_.own_timestamps);
    records_.Use(&api_, version_);
    if (result == CUPTI_SUCCESS) records_.Begin(clock_.id());
  }
  buffer_owner.store(this);
  const char* function = "cuptiGetTimestamp";
  if (result == CUPTI_SUCCESS) {
    function = "cuptiActivityRegisterCallbacks";
    result = api_.ActivityRegisterCallbacks(&OnRequest, &OnComplete);
  }
  if (result != CUPTI_SUCCESS) {
    TellError(function, result);
    return false;
  }
  if (!EnableKinds()) return false;
  attached_.store(true);
  BeginMetrics();
  return true;
}

// Where the program's profiler was given CUPTI and keeps its callbacks when it is done (Kineto
// does, for as long as the process lives), work is recorded without the calls that launch it.
// Whoever had CUPTI before us is left alone.
bool Session::Subscribe() {
  const CUptiResult result = api_.Subscribe(&subscriber_, &OnCall, this);
  if (result == CUPTI_SUCCESS) return has_subscribed_ = true;
  subscriber_ = nullptr;
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    TellError("cuptiSubscribe", result);
    return false;
  }
  if (is_away_ || (has_subscribed_ && order_ != 0)) return true;
  TellConflict(result);
  return false;
}

void Session::TellConflict(CUptiResult code) {
  char who[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  if (api_.Subscribe_v2 != nullptr) {
    CUpti_SubscriberParams asked = {};
    // What every version of the struct has.
    asked.structSize = offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(size_t);
    asked.subscriberName = "Crosscut";
    asked.oldSubscriberName = who;
    asked.oldSubscriberSize = sizeof who;
    CUpti_SubscriberHandle handle = nullptr;
    if (api_.Subscribe_v2(&handle, &OnCall, this, &asked) == CUPTI_SUCCESS) {
      api_.Unsubscribe(handle);
    }
    who[sizeof who - 1] = '\0';
  }
  char text[400];
  Describe("cuptiSubscribe", code, text, sizeof text);
  if (who[0] != '\0') {
    std::snprintf(text + Length(text), sizeof text - std::strlen(text), "; it is \"%s\"", who);
  }
  Tell("conflict", text);
}

bool Session::EnableKinds() {
  if (!options_.activities) return true;
  for (const CUpti_ActivityKind kind : kNeeded) {
    const CUptiResult result = api_.ActivityEnable(kind);
    if (result != CUPTI_SUCCESS) {
      TellError("cuptiActivityEnable for kernels", result);
      return false;
    }
    enabled_kinds_ |= uint64_t{1} << kind;
  }
  const auto enable = [this](CUpti_ActivityKind kind, const char* what) {
    const CUptiResult result = api_.ActivityEnable(kind);
    if (result == CUPTI_SUCCESS) {
      enabled_kinds_ |= uint64_t{1} << kind;
    } else {
      NoteWithout(what, result);
    }
  };
  for (const OptionalKind& wanted : kWanted) enable(wanted.kind, wanted.what);
  if (options_.synchronisation) enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "waits");
  if (!options_.graph_nodes) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "whole graphs");
  return true;
}

void Session::EnableCalls() {
  {
    const std::lock_guard lock(attach_mutex_);
    calls_.Set(abandoned_ ? Calls::kOff : is_attached() ? Calls::kRecord : Calls::kCount);
  }
  const CUptiResult result = calls_.Enable(api_, subscriber_);
  if (result != CUPTI_SUCCESS) NoteWithout("some CUDA calls", result);
  if (deaf_since_ns_ != 0) deaf_ns_ += host_->now_ns(host_->host) - deaf_since_ns_;
  deaf_since_ns_ = 0;
}

void Session::DisableKinds() {
  for (uint32_t kind = 0; enabled_kinds_ != 0; ++kind) {
    const uint64_t bit = uint64_t{1} << kind;
    if ((enabled_kinds_ & bit) != 0) api_.ActivityDisable(static_cast<CUpti_ActivityKind>(kind));
    enabled_kinds_ &= ~bit;
  }
}

// Undoes whatever Attach() came to do.
void Session::Detach() {
  if (is_attached()) StopRecords();
  if (subscriber_ != nullptr) {
    calls_.Set(Calls::kOff);
    calls_.Disable(api_, subscriber_);
  }
  DisableKinds();
  if (subscriber_ != nullptr) api_.Unsubscribe(subscriber_);
  subscriber_ = nullptr;
  const std::lock_guard lock(records_mutex_);
  clock_.Stop();
}

void Session::OnCall(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                     const void* data) {
  auto* session = static_cast<Session*>(self);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    return session->metrics_.Forget(static_cast<const CUpti_ResourceData*>(data)->context);
  }
  session->calls_.On(domain, call, static_cast<const CUpti_CallbackData*>(data));
}

void Session::OnRequest(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  Session* session = buffer_owner.load();
  *most_records = 0;
  *buffer = session != nullptr ? session->buffers_.Take() : nullptr;
  *bytes = *buffer != nullptr ? session->buffers_.bytes() : 0;
}

void Session::OnComplete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Session* session = buffer_owner.load();
  if (session == nullptr) return;
  switch (session->buffers_.Complete(buffer, valid)) {
    case Buffers::Kind::kForeign: session->foreign_.fetch_add(1, std::memory_order_relaxed); return;
    case Buffers::Kind::kLate: session->late_.fetch_add(1, std::memory_order_relaxed); return;
    case Buffers::Kind::kFilled:
      // The host asks for a flush now and then; busy programs cannot wait for it. On CUPTI's own
      // thread, and not where one that flushes is at it.
      if (session->buffers_.Scarce() && !session->metrics_.measures()) session->Drain(false);
  }
}

void Session::Drain(bool wait) {
  std::unique_lock<std::mutex> lock(records_mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  Pauses paused;
  {
    std::lock_guard<std::mutex> pauses_lock(pauses_mutex_);
    paused = pauses_;
  }
  paused.Shift(clock_.ToCupti(0));
  constexpr uint32_t kMostHeld = 64;
  uint8_t* held[kMostHeld];
  uint32_t count = 0;
  const auto push = [&] {
    metrics_.AwaitOpen();
    records_.Push(paused);
    while (count != 0) buffers_.Recycle(held[--count]);
  };
  uint8_t* buffer = nullptr;
  size_t valid = 0;
  while (buffers_.Next(&buffer, &valid)) {
    if (!records_.Add(buffer, valid)) {
      push();
      records_.Add(buffer, valid);
    }
    held[count++] = buffer;
    if (count == kMostHeld) push();
  }
  push();
}

// CUPTI's drops come as a number since it was last asked.
void Session::CountDrops() {
  size_t dropped = 0;
  if (api_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS) dropped = 0;
  std::lock_guard<std::mutex> lock(records_mutex_);
  const int64_t now = host_->now_ns(host_->host);
  const uint64_t unusable = records_.counts().lost - lost_told_;
  if (dropped + unusable != 0) {
    host_->lost(host_->host, 0, dropped + unusable, drops_since_ns_, now);
  }
  lost_told_ += unusable;
  drops_ += dropped;
  refusals_ += buffers_.TakeRefusals();
  drops_since_ns_ = now;
}

void Session::Tell(const char* state, const char* message) {
  const uint32_t version = version_;
  char text[48] = "";
  if (version >= 130000) {
    std::snprintf(text, sizeof text, "%u.%u (API %u)", version / 10000, version / 100 % 100,
                  version);
  } else if (version != 0) {
    std::snprintf(text, sizeof text, "API %u", version);
  }
  host_->tell(host_->host, text, state, message);
  const std::lock_guard lock(attach_mutex_);
  told_state_ = state;
  if (message != told_) std::snprintf(told_, sizeof told_, "%s", message);
}

void Session::TellAgain() {
  if (told_state_ != nullptr) Tell(told_state_, told_);
}

void Session::TellError(const char* function, CUptiResult code) {
  char text[400];
  Describe(function, code, text, sizeof text);
  Tell(MeaningOf(code).state, text);
}

void Session::NoteWithout(const char* what, CUptiResult code) {
  const size_t used = std::strlen(without_);
  std::snprintf(without_ + used, sizeof without_ - used, "; without %s: %s (%d)", what,
                MeaningOf(code).words, static_cast<int>(code));
}

void Session::TellOutcome() {
  std::lock_guard<std::mutex> lock(records_mutex_);
  const Records::Counts& counts = records_.counts();
  char text[2048];
  size_t used = 0;
  const auto add = [&](const char* format, auto... values) {
    const int length = std::snprintf(text + used, sizeof text - used, format, values...);
    used = std::min(sizeof text - 1, used + static_cast<size_t>(std::max(length, 0)));
  };
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  char away[560];
  AddAway(away, sizeof away);
  char metrics[700];
  const bool lacks_metrics = metrics_.AddOutcome(metrics, sizeof metrics);
  add("%s", metrics);
  add("%s%stimes by %s, read to +- %lld ns", away, away[0] == '\0' ? "" : "; ",
      clock_.is_ours() ? "the host's clock" : "CUPTI's clock",
      static_cast<long long>(clock_.error_ns()));
  if (!is_attached()) add("; %llu spans of devices", number(counts.pushed));
  if (counts.unlinked != 0) add(", %llu without their launch", number(counts.unlinked));
  if (counts.by_graph != 0) {
    add(", %llu in loops of graphs, taken for the graph's launch before", number(counts.by_graph));
  }
  if (counts.repeats != 0) add(", %llu passes more for metrics", number(counts.repeats));
  if (counts.paused != 0) add(", %llu left out in control steps", number(counts.paused));
  if (drops_ != 0) add("; CUPTI dropped %llu records", number(drops_));
  if (refusals_ != 0) add("; no buffer was free %llu times (option buffers)", number(refusals_));
  if (counts.lost != 0) add("; %llu records had no usable times", number(counts.lost));
  if (counts.damaged != 0) add("; %llu buffers broke off", number(counts.damaged));
  if (late_ != 0) add("; %llu buffers came after their session", number(late_));
  if (foreign_ != 0) add("; %llu buffers were another tool's", number(foreign_));
  if (counts.overhead_ns != 0) {
    add("; CUPTI and the driver report %llu us of overhead", number(counts.overhead_ns / 1000));
  }
  add("%s", without_);
  if (!options_.activities) add("; activities=off: nothing of devices");
  if (inflation_[0] != '\0') add("; %s", inflation_);
  if (complaint_[0] != '\0') add("; %s", complaint_);
  // Another tool that registers a clock of its own in our session shows here.
  if (clock_.jump_ns() != 0) {
    add("; CUPTI's clock jumped by %lld us: another profiler changed it",
        static_cast<long long>(clock_.jump_ns() / 1000));
    return Tell("conflict", text);
  }
  Tell(away[0] == '\0' && !lacks_metrics ? "on" : "conflict", text);
}

}  // namespace crosscut::cupti
