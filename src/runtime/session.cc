#include "src/runtime/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "src/base/descriptors.h"
#include "src/base/fault_point.h"
#include "src/base/limits.h"
#include "src/base/thread.h"
#include "src/base/time.h"
#include "src/collect/clock.h"
#include "src/collect/slow_path.h"
#include "src/host/registry.h"
#include "src/runtime/calibrate.h"
#include "src/runtime/error.h"
#include "src/runtime/plugins.h"
#include "src/runtime/starts.h"

namespace crosscut::record {
namespace {

constexpr int64_t kTransitionWaitNs = 1'000'000'000;
constexpr int kFlushWaitMs = 10'000;

// Never destroyed: the drain and other threads may still be at work while exit() runs.
union Immortal {
  constexpr Immortal() : session() {}
  ~Immortal() {}
  Session session;
};
constinit Immortal immortal;

uint64_t Now() { return ClockNow(); }

// What `crosscut record` asked for; 0 where it did not.
uint64_t NumberIn(const char* variable) {
  const char* text = secure_getenv(variable);
  const uint64_t number = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  return number > INT64_MAX ? 0 : number;
}

}  // namespace

Session& Session::Get() { return immortal.session; }

void Session::Init() {
  base::NoteStandardError();
  secure_ = getauxval(AT_SECURE) != 0;
  ClockInit(secure_);
  Recorder::Get().Init();
  on_demand_.Init({.records = [] { return Get().open(); },
                   .start = [](const crosscut_options* options) { return Get().Start(options); },
                   .stop = [] { return Get().StopAfterStep(/*wait=*/true); },
                   .stop_at_once = [] { return Get().StopAfterStep(/*wait=*/false); },
                   .snapshot = [] { return Get().Snapshot(); }});
}

// ---- One change at a time -----------------------------------------------------------------------

Transition::Transition(Session* session, bool wait) : session_(session) {
  const int64_t end = base::MonotonicNs() + kTransitionWaitNs;
  const Lock lock(&session->mutex_);
  while (session->busy_) {
    const int64_t left = end - base::MonotonicNs();
    const bool own = pthread_equal(session->busy_thread_, pthread_self());
    if (own || !wait || left <= 0) return;
    session->changed_.Wait(&session->mutex_, left);
  }
  session->busy_ = true;
  session->busy_thread_ = pthread_self();
  held_ = true;
}

Transition::~Transition() {
  if (!held_) return;
  const Lock lock(&session_->mutex_);
  session_->busy_ = false;
  session_->changed_.NotifyAll();
}

// ---- Start and stop -----------------------------------------------------------------------------

int Session::MayBegin(const Transition& transition, const crosscut_options* options) const {
  if (secure_) return Fail(CROSSCUT_EOFF, "off: this process runs with raised privileges");
  if (options != nullptr && options->struct_size < offsetof(crosscut_options, memory_bytes)) {
    return Fail(CROSSCUT_EINVAL, "crosscut_options.struct_size is not set");
  }
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  char tight[64];
  if (!log_.open() && !base::LimitsLeaveRoom(tight, sizeof tight)) {
    return Fail(CROSSCUT_EOFF, "off: the limit of %s leaves no room for a recording", tight);
  }
  return open() ? Fail(CROSSCUT_ERUNNING, "a session is open") : CROSSCUT_OK;
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

int Session::Arm(const crosscut_options* options) {
  const Transition transition(this);
  int error = MayBegin(transition, options);
  if (error != CROSSCUT_OK) return error;
  if (on_demand_.armed()) return Fail(CROSSCUT_ERUNNING, "this process is armed already");
  Settings settings;
  error = FillSettings(options, kPlanOfWindows, &settings);
  if (error != CROSSCUT_OK) return error;
  if (log_.open()) CloseLog();
  error = OpenLog(settings);
  if (error != CROSSCUT_OK) return error;
  if (!steps_.SetPlan(settings)) return Fail(CROSSCUT_ENOMEM, "no memory for a step plan");
  on_demand_.LimitFirst(NumberIn("CROSSCUT_STOP_AFTER_STEPS"),
                        static_cast<int64_t>(NumberIn("CROSSCUT_STOP_AT")));
  (void)Recorder::Get().stream().WriteMeta("armed", "1");
  sources_.WriteWhatIsKnown();
  // First: the thread may carry out a start at once.
  (void)state_.Make(Change::kArm, Now(), log_.header(), /*armed=*/true);
  const int number = on_demand_.Arm(log_.header());
  if (number != 0) {
    state_.Forget();
    return Fail(CROSSCUT_ENOMEM, "cannot start a thread: %s", strerror(number));
  }
  BeAskedAtExit();
  return CROSSCUT_OK;
}

// Every window goes to the log that is open: its ring is where requests are read.
int Session::ArmedSettings(const crosscut_options* options, Settings* settings) const {
  const char* dir = options == nullptr ? nullptr : options->run_dir;
  char* asked = dir == nullptr || *dir == '\0' ? nullptr : realpath(dir, nullptr);
  const bool other = dir != nullptr && *dir != '\0' &&
                     (asked == nullptr || strcmp(asked, log_.settings().run_dir) != 0);
  free(asked);
  if (other) {
    return Fail(CROSSCUT_ERUNNING, "this process is armed to record in %.120s",
                log_.settings().run_dir);
  }
  if (log_.Removed()) {
    return Fail(CROSSCUT_EIO, "the run directory %.120s was removed", log_.settings().run_dir);
  }
  *settings = log_.settings();
  return CROSSCUT_OK;
}

int Session::StartLocked(const Settings& settings) {
  // A run that was removed is made anew.
  if (log_.open() && (!log_.Fits(settings) || log_.Removed())) {
    CloseLog();
  } else if (log_.broken()) {
    return Fail(CROSSCUT_EIO, "the log of this run directory can no longer be written");
  }
  const bool fresh = !log_.open();
  if (fresh) {
    const int error = OpenLog(settings);
    if (error != CROSSCUT_OK) return error;
  } else if (!Recorder::Get().BeginSession(log_.ring(), settings.memory_bytes)) {
    return Fail(CROSSCUT_ENOMEM, "no memory for a session");
  }
  if (!on_demand_.armed()) {  // which has them since it was armed
    log_.set_settings(settings);
    if (!steps_.SetPlan(settings)) return Fail(CROSSCUT_ENOMEM, "no memory for a step plan");
  }
  const uint64_t tick = Now();
  format::RingHeader* header = log_.header();
  format::RingStore(header->start_tick, tick);
  format::RingStore<uint64_t>(header->stop_tick, 0);  // of the session before
  format::RingStore<uint32_t>(header->stop_reason, 0);
  (void)Recorder::Get().stream().Write(tick, format::kStart, &tick, 1);
  sources_.Begin();
  whole_ = false;
  on_demand_.WindowBegins(steps_.next());
  (void)Make(Change::kStart, tick);
  if (log_.broken()) {  // since it was asked: OnDrainFailure() found no session to end
    (void)Make(Change::kStop, Now());
    return Fail(CROSSCUT_EIO, "the log of this run directory can no longer be written");
  }
  if (CROSSCUT_FAULT("session.started")) return CROSSCUT_OK;
  if (fresh) sources_.WriteWhatIsKnown();
  sources_.Set(CROSSCUT_LEVEL_EVERYTHING);
  StartPlugins();
  log_.drain().Ask(Drain::kStarted);
  BeAskedAtExit();
  return CROSSCUT_OK;
}

int Session::OpenLog(const Settings& settings) {
  return log_.Open(settings, {.on_start = &CalibrateProbes,
                              .on_pass =
                                  [] {
                                    Get().steps_.ReadRunDelay();
                                    CalibrateStarts();
                                  },
                              .on_failure = &Session::OnDrainFailure,
                              .other_threads = &Session::OtherThreads});
}

// What plugins still hand over belongs into it.
void Session::CloseLog() {
  if (state() == State::kClosing) {
    FinishPlugins();
    (void)Make(Change::kHandedOver, Now());
  }
  log_.Close();
}

void Session::BeAskedAtExit() {
  if (!asked_at_exit_) asked_at_exit_ = atexit([] { Get().AtExit(); }) == 0;
}

int Session::Stop(format::StopReason reason, bool wait) {
  const Transition transition(this, wait);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  const State before = state();
  if (!IsOpen(before)) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  (void)Make(Change::kWithdraw, 0);
  sources_.Withdraw(/*from_control=*/InControl(before));
  if (!open()) return CROSSCUT_OK;  // a child that a source has forked
  const bool closing = StopPlugins();
  const uint64_t tick = Now();
  if (!log_.broken()) log_.TellStop(tick, reason);
  if (!closing || !Make(Change::kClose, tick)) (void)Make(Change::kStop, tick);
  if (!log_.broken()) log_.WriteStop(tick, reason, /*waits=*/true);
  if (CROSSCUT_FAULT("session.stopped")) return CROSSCUT_OK;
  on_demand_.WindowEnds(steps_.next());
  steps_.Stop(/*counts_on=*/on_demand_.armed());
  if (closing) OnPluginsIdle();
  log_.drain().Ask(Drain::kFlush);
  return CROSSCUT_OK;
}

int Session::StopAfterStep(bool wait) {
  StepEnd();  // so that the window's last one has its end
  return Stop(format::kStopAsked, wait);
}

int Session::Pause() {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  if (!open()) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  if (!Records(state())) return CROSSCUT_OK;
  sources_.Set(CROSSCUT_LEVEL_CONTROL);
  const uint64_t tick = Now();
  if (Make(Change::kPause, tick)) {
    steps_.Paused();
    (void)Recorder::Get().stream().Write(tick, format::kPause, nullptr, 0);
  }
  return CROSSCUT_OK;
}

int Session::Resume() {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  if (!open()) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  if (!IsPaused(state())) return CROSSCUT_OK;
  const uint64_t tick = Now();
  (void)Recorder::Get().stream().Write(tick, format::kResume, nullptr, 0);
  // In a control step the step plan switches on at its next edge.
  if (Make(Change::kResume, tick)) sources_.Set(LevelIn(state()));
  return CROSSCUT_OK;
}

int Session::RecordWhole(bool on) {
  const Transition transition(this);
  if (!transition) return Fail(CROSSCUT_ERUNNING, "another start or stop is under way");
  const State before = state();
  if (!open()) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  whole_ = on && Records(before);
  if (!on) return CROSSCUT_OK;  // the next step has the level that its plan says
  if (!Records(before)) return Fail(CROSSCUT_ENOTRUNNING, "the session is paused");
  const uint64_t tick = Now();
  if (LevelIn(before) != CROSSCUT_LEVEL_EVERYTHING) {
    if (before == State::kControl) (void)Make(Change::kLeaveControl, tick);
    steps_.MarkSwitch(tick);
    sources_.SetWhenOn(CROSSCUT_LEVEL_EVERYTHING);
    steps_.MarkSwitched();
  }
  steps_.MarkWhole(tick);
  return CROSSCUT_OK;
}

int Session::Snapshot() {
  if (!open()) return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  return Flush();
}

int Session::Flush() {
  Drain& drain = log_.drain();
  if (!drain.running()) return Fail(CROSSCUT_ENOTRUNNING, "this process has not recorded");
  drain.Ask(Drain::kFlush);
  if (!drain.Await(kFlushWaitMs)) {
    return Fail(CROSSCUT_EIO, "the thread that writes the log does not answer");
  }
  if (log_.broken()) return Fail(CROSSCUT_EIO, "the log could not be written");
  return CROSSCUT_OK;
}

// The window ends here. Recording goes on, so that destructors which come later are kept; nothing
// is flushed: whoever reads the run takes the rest out of the ring.
void Session::AtExit(bool by_underscore_exit) {
  if (!IsSessionHere()) return;
  const uint64_t tick = Now();
  if (!by_underscore_exit) EndPlugins();
  if (!open()) return LeaveNothing();
  if (log_.broken()) return;
  log_.TellStop(tick, format::kStopExit);
  (void)Make(Change::kExit, tick);
  log_.WriteStop(tick, format::kStopExit, /*waits=*/false);
  log_.LeaveFiles(/*recorded=*/true);
}

void Session::LeaveTheProgramAlone() {
  const Transition transition(this, /*wait=*/false);
  if (!transition || !IsSessionHere() || !log_.drain().running()) return;
  EndPlugins();  // what they do at their end would be forbidden at the program's
  steps_.LeaveClocks();
  sources_.Tell(
      "drain", nullptr, "off",
      "the program forbids system calls to all its threads: what the ring has no room for "
      "from then on is lost",
      log_is_open());
  log_.drain().Ask(Drain::kFlush);
  (void)log_.drain().Await(kFlushWaitMs);
  log_.ring()->Prepare(log_.ring()->chunk_count());
  log_.drain().Leave(/*written_on=*/true);
  log_.ring()->StandAlone();
}

// Only the owner's leaving counts: a vfork child shares this memory, a raw clone has a copy of it
// without the ring.
void Session::OnUnderscoreExit() {
  if (!IsOwner()) return;
  if (!open()) return LeaveNothing();
  const format::RingHeader* header = log_.header();
  // ProcessLog::TellStop() -> here: whether AtExit() has run by exit().
  if (format::RingLoad(header->stop_reason) == 0) AtExit(true);
}

int Session::OtherThreads() { return host::Registry::Get().threads() + Get().on_demand_.threads(); }

// An armed process that ends without a window has nothing to tell.
void Session::LeaveNothing() {
  if (!log_.open()) return;
  // OnDemand::WindowBegins() -> here.
  const bool never =
      on_demand_.armed() && format::RingLoad(log_.header()->control.window_begun) == 0;
  on_demand_.Disarm();
  log_.LeaveFiles(/*recorded=*/!never || log_.Break());
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
  if (plugins.threads() != 0) FinishPlugins();
  static_cast<Session*>(self)->log_.drain().Leave(/*written_on=*/true);
  // What the last thread's end would do, had we no others.
  if (OtherThreads() != 0) exit(0);
  return nullptr;
}

void Session::OnMainThreadEnd() {
  if (!log_.drain().running()) return;
  if (base::StartThread(&Session::AwaitLastThread, this, 0, nullptr) != 0) {
    log_.drain().Leave(/*written_on=*/true);
  }
}

// ---- Steps --------------------------------------------------------------------------------------

uint64_t Session::Step(uint32_t kind) {
  const bool armed = on_demand_.armed();
  if (!open() && !armed) {
    if (!crosscut_recording()) return 0;
    (void)Recorder::Get().TrackOfThisThread();  // a forked child: opens its log
    if (!open()) return 0;
  }
  uint64_t step;
  if (!steps_.Enter(&step)) return StepBeside(kind);
  if (armed) on_demand_.AtStep(step);
  const bool counted = steps_.Count([&] { return armed || open(); }, &step);
  const State before = state();
  if (!counted || !IsOpen(before)) {
    steps_.Skip();
    return step;
  }
  const int level_before = LevelIn(before);
  // The edge comes first: what switching costs belongs to the step that counts in no comparison.
  const uint64_t tick = Now();
  const bool whole = whole_.load();
  const int planned = steps_.Level(step, tick, level_before, Records(before) && !whole);
  const int level = whole ? int{CROSSCUT_LEVEL_EVERYTHING} : planned;
  steps_.MarkBegin(tick, kind);
  const bool control = level == CROSSCUT_LEVEL_CONTROL || level_before == CROSSCUT_LEVEL_CONTROL;
  const uint64_t from = steps_.MarkAway(tick, control);
  const bool switched = level != level_before && Records(before) && SwitchTo(level, from);
  steps_.MarkLevel(tick, step, LevelIn(state()), switched || whole);
  return step;
}

uint64_t Session::StepBeside(uint32_t kind) {
  uint64_t step = 0;
  const bool counted = steps_.Count([&] { return on_demand_.armed() || open(); }, &step);
  const uint64_t tick = Now();
  if (!counted || !open()) return step;
  steps_.MarkBegin(tick, kind);
  steps_.MarkBeside(tick, step, LevelIn(state()));
  return step;
}

// Off: hooks withdrawn first, so that what they do on leaving is still recorded; on: the other way
// round. Skipped where a start or stop is under way: the next step tries again.
bool Session::SwitchTo(int level, uint64_t step_tick) {
  const Transition transition(this, /*wait=*/false);
  if (!transition || !Records(state())) return false;
  if (level == CROSSCUT_LEVEL_CONTROL) {
    if (!Make(Change::kEnterControl, step_tick)) return false;
    sources_.Set(CROSSCUT_LEVEL_CONTROL);
    return Make(Change::kHide, Now());
  }
  if (state() == State::kControl && !Make(Change::kLeaveControl, step_tick)) return false;
  steps_.MarkSwitch(step_tick);
  sources_.SetWhenOn(level);
  steps_.MarkSwitched();
  return true;
}

void Session::StepEnd() {
  if (open()) steps_.End();
}

void Session::BeginPhase(const char* name) {
  if (open()) steps_.BeginPhase(name);
}

// ---- Sources and plugins ------------------------------------------------------------------------

int Session::AddSource(const crosscut_source* source) {
  if (source == nullptr || source->struct_size < offsetof(crosscut_source, marks) ||
      source->set_level == nullptr || source->name == nullptr) {
    (void)Fail(CROSSCUT_EINVAL, "a source needs struct_size, name and set_level");
    return 0;
  }
  const Transition transition(this);
  if (!transition) {
    (void)Fail(CROSSCUT_ERUNNING, "a source cannot be added while sources are switched");
    return 0;
  }
  return sources_.Add(*source, Records(state()) ? LevelIn(state()) : int{CROSSCUT_LEVEL_CONTROL});
}

int Session::Collected(const Profile& profile) {
  if (!log_.open() || !(open() || state() == State::kClosing)) {
    return Fail(CROSSCUT_ENOTRUNNING, "no session is open");
  }
  return KeepProfile(log_.settings(), log_.key(), profile);
}

void Session::StartPlugins() {
  host::Hooks hooks = {};
  hooks.tell = &crosscut_source_state;
  hooks.holds = &Sources::Holds;
  hooks.probe_cost = [](uint32_t probe, const int64_t figures[5]) {
    crosscut_probe_cost(probe, figures[0], figures[1], figures[2], figures[3], figures[4]);
  };
  hooks.collected = [](const char* source, const void* bytes, size_t size,
                       int64_t begin) -> const char* {
    const int error = Get().Collected({source, "xspace", bytes, size, {begin, 0}});
    return error == CROSSCUT_OK ? nullptr : LastError();
  };
  hooks.idle = &Session::OnPluginsIdle;
  record::StartPlugins(hooks);
}

// A session that was stopped ends with the last that its plugins hand over.
void Session::OnPluginsIdle() {
  Session& session = Get();
  if (session.state() != State::kClosing || host::Registry::Get().Busy()) return;
  if (session.Make(Change::kHandedOver, Now())) session.log_.drain().Ask(Drain::kFlush);
}

void Session::NameProcess(const char* name) {
  log_.NameProcess(name);
  if (open()) (void)Recorder::Get().stream().WriteMeta("process_name", name);
}

// ---- The drain's calls --------------------------------------------------------------------------

void Session::OnDrainFailure(const char* error, int number) {
  Session& session = Get();
  ProcessLog& log = session.log_;
  if (log.Break()) return;
  Say("recording stopped: %s%s%s", error, number != 0 ? ": " : "",
      number != 0 ? strerror(number) : "");
  // Not Stop(): that calls sources, which belong to the program's threads.
  const uint64_t tick = Now();
  Recorder::Get().stream().SetDrainRuns(false);
  log.TellStop(tick, format::kStopDisk);
  (void)session.Make(Change::kFail, tick);
  log.WriteStop(tick, format::kStopDisk, /*waits=*/false);
}

// ---- Fork ---------------------------------------------------------------------------------------

void Session::InForkedChild() {
  busy_ = false;
  whole_ = false;
  const bool recorded = open();
  state_.Forget();
  log_.AfterFork(/*parent=*/recorded || on_demand_.threads() != 0);
  sources_.AfterFork();
  steps_.AfterFork();
  host::Registry::Get().AfterFork();
  // An armed process's child is armed by whoever watches over its forks: python/crosscut/_forks.py.
  const bool follow = recorded && follow_fork_.load() && !secure_ && on_demand_.threads() == 0;
  on_demand_.AfterFork(recorded);
  Recorder::Get().AfterFork(follow ? &Session::StartInChild : nullptr);
}

void Session::StartInChild() {
  Session& session = Get();
  const Transition transition(&session, /*wait=*/false);
  if (!transition) return;
  const Settings settings = session.log_.settings();
  (void)session.StartLocked(settings);
}

}  // namespace crosscut::record
