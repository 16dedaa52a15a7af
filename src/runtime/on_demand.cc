#include "src/runtime/on_demand.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/thread.h"
#include "src/base/time.h"
#include "src/collect/memory.h"
#include "src/collect/recorder.h"
#include "src/format/requests.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

__thread bool is_our_thread __attribute__((tls_model("initial-exec"))) = false;
// The window that this thread begins, asked for from outside: an OnDemand::Window.
__thread const void* asked_here __attribute__((tls_model("initial-exec"))) = nullptr;

// The program's code runs in starts and stops, and an interpreter may serve requests from any code:
// what is asked for within one, on its thread, waits for its end.
__thread int changes_here __attribute__((tls_model("initial-exec"))) = 0;
__thread bool asked_within __attribute__((tls_model("initial-exec"))) = false;

using format::RingControl;
using format::RingHeader;
using format::RingLoad;
using format::RingStore;
using format::WaitingRequest;

constexpr size_t kStackBytes = 512 << 10;
constexpr int64_t kForEver = -1;
constexpr int64_t kTryAgainNs = 10'000'000;
constexpr int64_t kProgramHasNs = 200'000'000;  // then our thread does it itself
constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kLongestNs = uint64_t{kSecond} * 86'400 * 365;  // of a window

// Not the private kind: who asks lives in another process.
void Wake(uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

}  // namespace

void OnDemand::Init(const Calls& calls) {
  calls_ = calls;
  page_ = static_cast<RingHeader**>(MapPages(kPageBytes, /*wipe_on_fork=*/true));
}

int OnDemand::Arm(RingHeader* header) {
  if (page_ == nullptr) return ENOMEM;
  __atomic_store_n(page_, header, __ATOMIC_SEQ_CST);
  running_.store(true);
  if (const int error = base::StartThread(&OnDemand::Main, this, kStackBytes, nullptr);
      error != 0) {
    running_.store(false);
    Disarm();
    return error;
  }
  RingStore<uint32_t>(header->control.armed, 1);
  return 0;
}

void OnDemand::Disarm() {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  RingStore<uint32_t>(header->control.armed, 0);
  __atomic_store_n(page_, nullptr, __ATOMIC_SEQ_CST);
}

void OnDemand::SetProgram(const crosscut_program* program) {
  auto* copy = new (std::nothrow) crosscut_program(*program);
  if (copy != nullptr) program_.store(copy, std::memory_order_release);
}

bool OnDemand::Claim(RingHeader* header, uint32_t word) {
  const Lock lock(&claim_mutex_);
  const bool claimed = format::ClaimRequest(header, word);
  if (claimed) claimed_ = word;
  return claimed;
}

void OnDemand::RefuseNonsense(RingHeader* header) {
  uint32_t request = 0;
  {
    const Lock lock(&claim_mutex_);
    const uint32_t word = format::RequestWord(*header);
    request = word & ~format::kRequestTaken;
    if (word == request || request == claimed_ || request == RingLoad(header->answered)) return;
  }
  Answer(header, request, CROSSCUT_EINVAL, "this is not a request");
}

// The asker stores it before the request, which was read with acquire, so it is the request's.
bool OnDemand::NamesStep(const RingHeader& header) {
  return RingLoad(header.control.at_step) != format::kAtOnce;
}

// ---- The thread ---------------------------------------------------------------------------------

void* OnDemand::Main(void* self) {
  prctl(PR_SET_NAME, "crosscut-control");
  is_our_thread = true;
  auto* it = static_cast<OnDemand*>(self);
  Recorder::Get().MarkOurs();
  RingHeader* header = it->header();
  int64_t since_ns = 0;  // when the program's thread was first called for what waits; 0: not yet
  bool called = false;
  while (header != nullptr) {
    const uint32_t word = format::RequestWord(*header);
    if ((word & format::kRequestTaken) != 0) it->RefuseNonsense(header);
    if (format::RequestOf(WaitingRequest(*header)) == format::kRequestSnapshot) {
      it->CarryOut(header, word, format::kAtOnce);  // no thread of the program has a part in it
    }
    const int64_t now = base::MonotonicNs();
    const int64_t limit = it->limit_at_ns_.load();
    it->planned_ns_.store(limit);
    const bool asked = WaitingRequest(*header) != 0 && !NamesStep(*header);
    if (asked || (limit != 0 && limit <= now)) {
      if (since_ns == 0) since_ns = now;
      called = called || it->Call();
      if (now - since_ns >= kProgramHasNs) it->Serve();
      it->Wait(header, word, kTryAgainNs);
      continue;
    }
    since_ns = 0;
    called = false;
    it->Wait(header, word, limit == 0 ? kForEver : limit - now);
  }
  return nullptr;
}

void OnDemand::Wait(RingHeader* header, uint32_t word, int64_t ns) {
  const timespec timeout = {ns / kSecond, ns % kSecond};
  syscall(SYS_futex, &header->request, FUTEX_WAIT, word, ns < 0 ? nullptr : &timeout, nullptr, 0);
}

bool OnDemand::Call() {
  const crosscut_program* program = program_.load(std::memory_order_acquire);
  if (program != nullptr && program->call != nullptr) return program->call(program->self) == 0;
  Serve();
  return true;
}

// ---- Carrying out -------------------------------------------------------------------------------

void OnDemand::AtStep(uint64_t step) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  RingControl& control = header->control;
  const bool off = !calls_.records();
  if (off && control.counts_steps == 0) RingStore<uint32_t>(control.counts_steps, 1);
  // Before the request is read: who asks writes it first and then reads the steps, so that one of
  // both sees the other.
  format::CountSteps(header, step + 1);
  const uint64_t stop = stop_step_.load(std::memory_order_relaxed);
  if (stop != 0 && step >= stop && !off) {
    // Who is stopping may need a lock of an interpreter's that this thread has. The next step tries
    // again.
    (void)Stop(calls_.stop_at_once);
  }
  const uint32_t word = WaitingRequest(*header);
  if (word == 0 || format::RequestOf(word) == format::kRequestSnapshot) return;
  if (!NamesStep(*header) || RingLoad(control.at_step) <= step) CarryOut(header, word, step);
}

void OnDemand::Serve() {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  if (changes_here > 0) {
    asked_within = true;
    return;
  }
  ServeLimit();
  const uint32_t word = WaitingRequest(*header);
  if (word == 0 || format::RequestOf(word) == format::kRequestSnapshot) return;
  if (!NamesStep(*header)) CarryOut(header, word, format::kAtOnce);
}

void OnDemand::ServeLimit() {
  int64_t limit = limit_at_ns_.load();
  if (limit == 0 || base::MonotonicNs() < limit) return;
  const int64_t passed = limit;
  if (!limit_at_ns_.compare_exchange_strong(limit, 0) || End() != CROSSCUT_ERUNNING) return;
  limit = 0;  // a start or stop is under way: again, soon
  (void)limit_at_ns_.compare_exchange_strong(limit, passed);
}

void OnDemand::CarryOut(RingHeader* header, uint32_t word, uint64_t step) {
  if (!Claim(header, word)) return;
  (void)RingLoad(header->answered);  // who carried out the one before, another thread, is done
  int answer = CROSSCUT_EINVAL;
  switch (format::RequestOf(word)) {
    case format::kRequestStart:
      if (step != format::kAtOnce && NamesStep(*header) &&
          RingLoad(header->control.at_step) < step) {
        return Answer(header, word, format::kAnswerLate, "the step had begun already");
      }
      answer = Begin(header);
      break;
    case format::kRequestStop: answer = End(); break;
    case format::kRequestSnapshot: answer = calls_.snapshot(); break;
    default: (void)Fail(answer, "request %u is unknown here", format::RequestOf(word)); break;
  }
  Answer(header, word, static_cast<uint32_t>(answer), answer == 0 ? "" : LastError());
}

// `answered` last, with release: who reads it with acquire has the words and the answer.
void OnDemand::Answer(RingHeader* header, uint32_t word, uint32_t answer, const char* words) {
  snprintf(header->control.words, sizeof header->control.words, "%s", words);
  format::Answer(header, word, answer);
  Wake(&header->answered);
}

int OnDemand::Begin(RingHeader* header) {
  const RingControl& control = header->control;
  if (calls_.records()) return Fail(CROSSCUT_ERUNNING, "it is already recording");
  const auto limit = static_cast<int64_t>(std::min(RingLoad(control.limit_ns), kLongestNs));
  const Window window = {RingLoad(control.window), RingLoad(control.step_count),
                         limit == 0 ? 0 : base::MonotonicNs() + limit, true};
  asked_here = &window;
  const int error = Start(nullptr);
  asked_here = nullptr;
  return error;
}

int OnDemand::Start(const crosscut_options* options) {
  if (!armed()) return calls_.start(options);
  ++changes_here;
  beginning_.fetch_add(1);
  CallProgram(true);
  const int error = calls_.start(options);
  beginning_.fetch_sub(1);
  if (error != CROSSCUT_OK && !calls_.records()) CallProgram(false);
  if (--changes_here == 0 && std::exchange(asked_within, false)) Serve();
  return error;
}

int OnDemand::Stop(int (*stop)()) {
  ++changes_here;
  const int error = stop();
  if (error == CROSSCUT_OK && armed()) CallProgram(false);
  if (--changes_here == 0 && std::exchange(asked_within, false)) Serve();
  return error;
}

void OnDemand::CallProgram(bool begins) {
  const crosscut_program* program = program_.load(std::memory_order_acquire);
  if (program != nullptr && program->window != nullptr) {
    program->window(program->self, begins ? 1 : 0);
  }
}

// ---- Windows ------------------------------------------------------------------------------------

// Our thread sleeps no longer than to the limit. It may be between its look at the limit and its
// sleep, where a wake does not reach it, so it is woken until it has seen the limit.
void OnDemand::AwaitPlan(RingHeader* header) {
  constexpr int kTries = 100;
  const int64_t limit = limit_at_ns_.load();
  for (int i = 0; i < kTries && limit != 0 && planned_ns_.load() != limit; ++i) {
    if (is_our_thread || threads() == 0) return;
    if (i > 0) usleep(100);
    Wake(&header->request);
  }
}

void OnDemand::WindowBegins(uint64_t next_step) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  RingControl& control = header->control;
  Window window;
  if (asked_here != nullptr) {
    window = *static_cast<const Window*>(asked_here);
  } else if (inherited_.asked) {
    window = inherited_;
  } else if (number_ == 0) {
    window = first_;
  }
  inherited_ = {};
  number_ = window.number != 0 ? window.number : number_ + 1;
  const bool by_step = window.step_count != 0 && window.step_count < UINT64_MAX - next_step;
  stop_step_.store(by_step ? next_step + window.step_count : 0);
  limit_at_ns_.store(window.limit_at_ns);
  // The number last: who reads it has its first step. -> ArmedProcess::window_begun().
  RingStore(control.first_step, next_step);
  RingStore(control.window_begun, number_);
  AwaitPlan(header);
  char text[24];
  snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(number_));
  (void)Recorder::Get().stream().WriteMeta("window", text);
}

void OnDemand::WindowEnds(uint64_t next_step) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  stop_step_.store(0);
  limit_at_ns_.store(0);
  // As in WindowBegins(). -> ArmedProcess::window_ended().
  RingStore(header->control.end_step, next_step);
  RingStore(header->control.window_ended, header->control.window_begun);
}

void OnDemand::AfterFork(bool parent_recorded) {
  inherited_ = {};
  if (parent_recorded) {
    inherited_ = {number_, number_ == 1 ? first_.step_count : 0, limit_at_ns_.load(), true};
  }
  program_.store(nullptr);
  running_.store(false);
  beginning_.store(0);
  stop_step_.store(0);
  limit_at_ns_.store(0);
}

}  // namespace crosscut::record
