// The program's own profilers go first: CUPTI serves one tool at a time. Ours lets go of all of it
// before theirs begins, hears calls again where theirs does not, and records again behind it.

#include <time.h>

#include <cstdio>
#include <cstring>

#include "session.h"

namespace crosscut::cupti {
namespace {

// Another thread may be in a call that waits for a device; the program's profiler waits meanwhile.
constexpr int64_t kOpenCallsNs = 100'000'000;

constexpr char kAnd[] = " and ";

// Whether `who` is one of the names in `names`, and not only a part of one.
bool IsAmong(const char* names, const char* who) {
  const size_t length = std::strlen(who), link = std::strlen(kAnd);
  for (const char* name = names; *name != '\0';) {
    const char* const end = std::strstr(name, kAnd);
    const size_t size = end == nullptr ? std::strlen(name) : static_cast<size_t>(end - name);
    if (size == length && std::strncmp(name, who, length) == 0) return true;
    if (end == nullptr) return false;
    name = end + link;
  }
  return false;
}

}  // namespace

void Session::OtherProfiler(const char* who, crosscut_profilers state, uint64_t order) {
  {
    const std::lock_guard lock(attach_mutex_);
    if (order > asked_.order) {
      asked_.order = order;
      asked_.state = state;
      std::snprintf(asked_.who, sizeof asked_.who, "%s", who);
    }
  }
  if (!TakeTurn(kHandOverPatienceNs)) {
    unanswered_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  HearOfOthers();
  EndTurn();
}

void Session::HearOfOthers() {
  char who[sizeof asked_.who];
  {
    const std::lock_guard lock(attach_mutex_);
    if (asked_.order == order_) return;
    order_ = asked_.order;
    theirs_ = asked_.state;
    std::memcpy(who, asked_.who, sizeof who);
  }
  if (theirs_ == CROSSCUT_PROFILERS_CHANGING && !IsAmong(who_, who)) {
    const size_t used = std::strlen(who_);
    std::snprintf(who_ + used, sizeof who_ - used, "%s%s", used == 0 ? "" : kAnd, who);
  }
  if (started_) Follow();
}

void Session::Follow() {
  if (theirs_ == CROSSCUT_PROFILERS_NONE) return TakeBack();
  if (!is_away_) HandOver();
  if (!is_away_ || !AwaitAttachment()) return;
  if (theirs_ == CROSSCUT_PROFILERS_CHANGING) {
    ReleaseCalls();
  } else {
    HearCalls();
  }
}

void Session::HandOver() {
  const int64_t begun = host_->now_ns(host_->host);
  bool answered = AwaitAttachment();
  while (!answered && host_->now_ns(host_->host) - begun < kHandOverPatienceNs) {
    answered = AwaitAttachment();
  }
  if (!answered && !AwaitAttachment(true)) {
    unanswered_.fetch_add(1, std::memory_order_relaxed);
  } else if (is_attached()) {
    StopRecords();
  } else if (has_tried_) {
    return;  // there is nothing of ours, and nothing that theirs would end
  }
  is_away_ = true;
  away_since_ns_ = begun;
  ++hand_overs_;
}

void Session::ReleaseCalls() {
  if (subscriber_ == nullptr) return;
  calls_.Set(Calls::kOff);
  cut_calls_ += static_cast<uint64_t>(calls_.AwaitNone(kOpenCallsNs));
  deaf_since_ns_ = host_->now_ns(host_->host);
  calls_.Disable(api_, subscriber_);
  api_.Unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void Session::HearCalls() {
  if (subscriber_ != nullptr || !has_api_) return;
  PrepareOnce();
  if (api_.Subscribe(&subscriber_, &OnCall, this) == CUPTI_SUCCESS) {
    has_subscribed_ = true;
    return EnableCalls();
  }
  subscriber_ = nullptr;
}

void Session::TakeBack() {
  if (is_away_ && AwaitAttachment()) BeginAttachment();
}

// A tool that ends by cuptiFinalize() takes along what everybody had switched on. What was lost by
// that since the last flush is not known.
void Session::HearAgain() {
  HearCalls();
  if (subscriber_ == nullptr) return;
  StopRecords();
  if (!StartRecords()) return Detach();
  EnableCalls();
  host_->lost(host_->host, 0, 0, flushed_ns_, host_->now_ns(host_->host));
}

void Session::TellAway() {
  const int64_t now = host_->now_ns(host_->host);
  const uint64_t launches = calls_.TakeCounted();
  host_->lost(host_->host, 0, launches, away_since_ns_, now);
  away_ns_ += now - away_since_ns_;
  away_launches_ += launches;
  is_away_ = false;
}

void Session::AddAway(char* text, size_t bytes) const {
  text[0] = '\0';
  size_t used = 0;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(text + used, bytes - used, format, values...);
    used = std::strlen(text);
  };
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) / 1e9; };
  if (hand_overs_ != 0) {
    add("for %.3f s the program's own %s had CUPTI (%llu times): what devices did then, of %llu "
        "launches and perhaps others, is not in this run; where that profile is kept as a file, "
        "crosscut import reads it",
        seconds(away_ns_), who_, number(hand_overs_), number(away_launches_));
  }
  const char* const behind = used == 0 ? "" : "; ";
  int64_t deaf = deaf_ns_;
  if (deaf_since_ns_ != 0) deaf += host_->now_ns(host_->host) - deaf_since_ns_;
  if (hand_overs_ != 0 && deaf != 0) {
    add("; for %.3f s no calls of CUDA were recorded for its sake", seconds(deaf));
  }
  if (cut_calls_ != 0) add("; the ends of %llu calls were not seen", number(cut_calls_));
  if (const uint64_t unanswered = unanswered_.load(); unanswered != 0) {
    add("%sCUPTI did not answer before a profiler of the program's began (%llu times)", behind,
        number(unanswered));
  }
}

}  // namespace crosscut::cupti
