#include "src/runtime/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "src/base/descriptors.h"
#include "src/base/fault_point.h"
#include "src/base/limits.h"
#include "src/base/thread.h"
#include "src/collect/clock.h"
#include "src/collect/slow_path.h"
#include "src/host/registry.h"
#include "src/runtime/error.h"
#include "src/runtime/settings.h"

namespace crosscut::record {
namespace {

constexpr int kTransitionWaitMs = 1000;
constexpr int kFlushWaitMs = 10'000;

// Never destroyed: the drain and other threads may still be at work while exit() runs.
union Immortal {
  constexpr Immortal() : session() {}
  ~Immortal() {}
  Session session;
};
constinit Immortal immortal;

uint64_t Now() { return ClockNow(); }

}  // namespace

Session& Session::Get() { return immortal.session; }

void Session::Init() {
  base::NoteStandardError();
  secure_ = getauxval(AT_SECURE) != 0;
  ClockInit(secure_);
  Recorder::Get().Init();
  on_demand_.Init({.records = [] { return Get().state() != kOff; },
                   .start = [] { return Get().Start(nullptr); },
                   .stop =
                       [] {
                         Get().StepEnd();  // so that the window's last one has its end
                         return Get().Stop(format::kStopAsked);
                       },
                   .snapshot = [] { return Get().Snapshot(); }});
}

// ---- One change at a time -----------------------------------------------------------------------

Transition::Transition(Session* session, bool wait) : session_(session) {
  timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += kTransitionWaitMs / 1000;
  pthread_mutex_lock(&session->mutex_);
  while (session->busy_) {
    const bool own = pthread_equal(session->busy_thread_, pthread_self());
    if (own || !wait || pthread_cond_timedwait(&session->changed_, &session->mutex_, &end) != 0) {
      pthread_mutex_unlock(&session->mutex_);
      return;
    }
  }
  session->busy_ = true;
  session->busy_thread_ = pthread_self();
  pthread_mutex_unlock(&session->mutex_);
  held_ = true;
}

Transition::~Transition() {
  if (!held_) return;
  pthread_mutex_lock(&session_->mutex_);
  session_->busy_ = false;
  pthread_cond_broadcast(&session_->changed_);
  pthread_mutex_unlock(&session_->mutex_);
}

// ---- Start and stop -----------------------------------------------------------------------------

int Session::MayBegin(const Transition& transition, const crosscut_options* options) const {
  if (secure_) return Fail(CROSSCUT_EOFF, "off: this process runs with raised privileges");
  if (options != nullptr && options->struct_size < offsetof(crosscut_options, memory_bytes)) {
    return Fail(CROSSCUT_EINVAL, "crosscut_options.struct_size is not set");
  }
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  char tight[64];
  if (!open_ && !base::LimitsLeaveRoom(tight, sizeof tight)) {
    return Fail(CROSSCUT_EOFF, "off: the limit of %s leaves no room for a recording", tight);
  }
  return state() == kOff ? CROSSCUT_OK : Fail(CROSSCUT_ERUNNING, "a session is open");
}

int Session::Start(const crosscut_options* options) {
  const Transition transition(this);
  int error = MayBegin(transition, options);
  if (error != CROSSCUT_OK) return error;
  Settings settings;
  error = on_demand_.armed() ? ArmedSettings(options, &settings)
                             : FillSettings(options, kPlanOfRuns, &settings);
  if (error != CROSSCUT_OK) return error;
  return StartLocked(settings);
}

int Session::StartLocked(const Settings& settings) {
  // A run that was removed is made anew.
  if (open_ && (!SameLog(settings) || access(log_path_, F_OK) != 0)) {
    CloseLog();
  } else if (broken_.load()) {
    return Fail(CROSSCUT_EIO, "the log of this run directory can be written no more");
  }
  const bool fresh = !open_;
  if (fresh) {
    const int error = Open(settings);
    if (error != CROSSCUT_OK) return error;
  } else if (!Recorder::Get().BeginSession(&rings_[ring_index_], settings.memory_bytes)) {
    return Fail(CROSSCUT_ENOMEM, "no memory for a session");
  }
  if (!on_demand_.armed()) {  // which has them since it was armed, and steps read them
    settings_ = settings;
    SetPlan(settings);
  }
  const uint64_t tick = Now();
  format::RingHeader* header = rings_[ring_index_].header();
  format::RingStore(header->start_tick, tick);
  format::RingStore<uint64_t>(header->stop_tick, 0);
  format::RingStore<uint32_t>(header->stop_reason, 0);
  (void)Recorder::Get().WriteSession(tick, format::kStart, &tick, 1);
  format::RingStore<uint32_t>(header->state, format::kRingRecording);
  in_control_.store(false);
  level_when_on_.store(CROSSCUT_LEVEL_EVERYTHING);
  state_.store(kRecording, std::memory_order_release);
  on_demand_.WindowBegins(next_step_.load());
  Recorder::Get().SetPhase(Phase::kOn, tick);
  if (CROSSCUT_FAULT("session.started")) return CROSSCUT_OK;
  if (fresh) WriteWhatIsKnown();
  SetSources(CROSSCUT_LEVEL_EVERYTHING);
  StartPlugins();
  drain_.Ask(Drain::kStarted);
  if (!exit_registered_) {
    exit_registered_ = atexit([] { Session::Get().AtExit(); }) == 0;
  }
  return CROSSCUT_OK;
}

int Session::Stop(format::StopReason reason) {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  if (state() == kOff) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  WithdrawSources();
  const bool closing = StopPlugins();
  const uint64_t tick = Now();
  Recorder::Get().SetPhase(closing ? Phase::kClosing : Phase::kOff, tick);
  if (!broken_.load()) MarkStop(tick, reason, /*waits=*/true);
  if (CROSSCUT_FAULT("session.stopped")) return CROSSCUT_OK;
  state_.store(kOff, std::memory_order_release);
  on_demand_.WindowEnds(next_step_.load());
  if (!on_demand_.armed()) next_step_.store(0);
  running_step_ = 0;
  phase_name_ = 0;
  drain_.Ask(Drain::kFlush);
  return CROSSCUT_OK;
}

int Session::Pause() {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  if (state() == kOff) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  if (state() == kPaused) return CROSSCUT_OK;
  SetSources(CROSSCUT_LEVEL_CONTROL);
  const uint64_t tick = Now();
  Recorder::Get().SetPhase(Phase::kHidden, tick);
  (void)Recorder::Get().WriteSession(tick, format::kPause, nullptr, 0);
  format::RingStore<uint32_t>(rings_[ring_index_].header()->state, format::kRingPaused);
  state_.store(kPaused, std::memory_order_release);
  return CROSSCUT_OK;
}

int Session::Resume() {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  if (state() == kOff) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  if (state() == kRecording) return CROSSCUT_OK;
  const uint64_t tick = Now();
  (void)Recorder::Get().WriteSession(tick, format::kResume, nullptr, 0);
  format::RingStore<uint32_t>(rings_[ring_index_].header()->state, format::kRingRecording);
  state_.store(kRecording, std::memory_order_release);
  if (in_control_.load()) return CROSSCUT_OK;  // the step plan switches on at its next edge
  Recorder::Get().SetPhase(Phase::kOn, tick);
  SetSources(level_when_on_);
  return CROSSCUT_OK;
}

int Session::Snapshot() {
  if (state() == kOff) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  return Flush();
}

int Session::Flush() {
  if (!drain_.running()) return Fail(CROSSCUT_ENOTRUNNING, "this process has not recorded");
  drain_.Ask(Drain::kFlush);
  if (!drain_.Await(kFlushWaitMs)) return Fail(CROSSCUT_EIO, "the drain does not answer");
  if (broken_.load()) return Fail(CROSSCUT_EIO, "the log could not be written");
  return CROSSCUT_OK;
}

// The window ends here. Recording goes on, so that destructors which come later are kept; nothing
// is flushed: whoever reads the run takes the rest out of the ring.
void Session::AtExit(bool by_underscore_exit) {
  if (!IsSessionHere()) return;
  const uint64_t tick = Now();
  if (!by_underscore_exit) FinishPlugins();
  if (state() == kOff) return LeaveNothing();
  if (!broken_.load()) MarkStop(tick, format::kStopExit);
}

// Only the owner's leaving counts: a vfork child shares this memory, a raw clone has a copy of it
// without the ring.
void Session::OnUnderscoreExit() {
  if (owner_ != getpid()) return;
  if (state() == kOff) return LeaveNothing();
  const format::RingHeader* header = rings_[ring_index_].header();
  if (format::RingLoad(header->stop_reason) == 0) AtExit(true);
}

// Where the process ends, the ring's header alone may tell: another session must not begin without
// the word of this one's end.
void Session::MarkStop(uint64_t tick, format::StopReason reason, bool waits) {
  const uint64_t payload = reason;
  format::RingHeader* header = rings_[ring_index_].header();
  Recorder& recorder = Recorder::Get();
  (void)(waits ? recorder.WriteSession(tick, format::kStop, &payload, 1)
               : recorder.TryWriteSession(tick, format::kStop, &payload, 1));
  format::RingStore(header->stop_tick, tick);
  format::RingStore<uint32_t>(header->stop_reason, reason);
  format::RingStore<uint32_t>(header->state, format::kRingStopped);
}

// A thread with the program's descriptors must be the last one: it runs exit(), which flushes.
void* Session::AwaitLastThread(void* self) {
  constexpr unsigned kOurs = 3;  // the main thread's remains, the drain, this one
  struct stat tasks;
  host::Registry& plugins = host::Registry::Get();
  while (stat("/proc/self/task", &tasks) == 0 &&
         tasks.st_nlink > 2 + kOurs + static_cast<nlink_t>(OtherThreads())) {
    usleep(2000);
  }
  auto* session = static_cast<Session*>(self);
  if (plugins.threads() != 0) session->FinishPlugins();
  session->drain_.Leave(/*written_on=*/true);
  // What the last thread's end would do, had we no others.
  if (OtherThreads() != 0) exit(0);
  return nullptr;
}

void Session::OnMainThreadEnd() {
  if (!drain_.running()) return;
  if (base::StartThread(&Session::AwaitLastThread, this, 0, nullptr) != 0) {
    drain_.Leave(/*written_on=*/true);
  }
}

// ---- The drain's calls --------------------------------------------------------------------------

void Session::OnDrainFailure(const char* error, int number) {
  Session& session = Get();
  if (session.broken_.exchange(true)) return;
  Say("recording stopped: %s%s%s", error, number != 0 ? ": " : "",
      number != 0 ? strerror(number) : "");
  // Not Stop(): that calls sources, which belong to the program's threads.
  const uint64_t tick = Now();
  Recorder::Get().SetPhase(Phase::kOff, tick);
  Recorder::Get().SetDrainRuns(false);
  session.MarkStop(tick, format::kStopDisk);
}

void Session::OnDrainStart() { Get().Calibrate(); }

// ---- Fork ---------------------------------------------------------------------------------------

void Session::InForkedChild() {
  const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  memcpy(&mutex_, &mutex, sizeof mutex);
  memcpy(&changed_, &changed, sizeof changed);
  memcpy(&told_mutex_, &mutex, sizeof mutex);
  busy_ = false;
  const bool recorded = state() != kOff;
  if (recorded || on_demand_.threads() != 0) memcpy(parent_key_, process_key_, sizeof parent_key_);
  state_.store(kOff);
  open_ = false;
  broken_.store(false);
  in_step_.store(false);
  in_control_.store(false);
  next_step_.store(0);
  running_step_ = 0;
  phase_name_ = 0;
  start_method_ = "fork";
  drain_.AfterFork();
  host::Registry::Get().AfterFork();
  new (&rings_[0]) ChunkRing();
  new (&rings_[1]) ChunkRing();
  // An armed process's child is armed by whoever watches over its forks: python/crosscut/_forks.py.
  const bool follow = recorded && follow_fork_.load() && !secure_ && on_demand_.threads() == 0;
  on_demand_.AfterFork(recorded);
  Recorder::Get().AfterFork(follow ? &Session::StartInChild : nullptr);
}

void Session::StartInChild() {
  Session& session = Get();
  const Transition transition(&session, /*wait=*/false);
  if (!transition) return;
  const Settings settings = session.settings_;
  (void)session.StartLocked(settings);
}

}  // namespace crosscut::record
