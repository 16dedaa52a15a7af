// Who starts and stops, makes steps, adds sources.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "src/collect/recorder.h"
#include "tests/stress/actors.h"

namespace crosscut::stress {
namespace {

uint32_t next_run = 0;     // the controller's alone
bool session_has_control;  // likewise
int steps_amid_pause = 0;  // atomic: the stepper is in the midst of it, and the pause goes on

crosscut_options OptionsFor(const char* dir, Random* random) {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = dir;
  options.memory_bytes = the_cast.memory;
  options.policy = the_cast.flight ? CROSSCUT_FLIGHT_RECORDER : CROSSCUT_DROP_NEWEST;
  options.seed = the_cast.steps == Steps::kVaried ? random->Next() | 1 : TheWorld().seed + 1;
  options.plan = "full";
  options.budget_percent = -1;
  Steps steps = the_cast.steps;
  if (steps == Steps::kVaried) steps = static_cast<Steps>(1 + random->Below(3));
  session_has_control = steps == Steps::kControl || steps == Steps::kBudget;
  if (steps == Steps::kControl) options.control_percent = 30.5;
  constexpr const char* kPlans[] = {"full", "balanced", "control=30.5,everything=69.5"};
  if (steps == Steps::kControl) options.plan = kPlans[random->Below(3)];
  if (steps == Steps::kBudget) options.budget_percent = 2.5;
  return options;
}

class Controller {
 public:
  Controller(Marker* marker, Random* random) : marker_(marker), random_(random) {}
  void Act();
  void Start();
  void Stop();
  Where where() const { return where_; }

 private:
  void Is(Where where) { SessionIs(where, run_, session_has_control); }
  template <class Call>
  bool Change(const char* what, Where after, Call call);
  void Flush();

  Marker* marker_;
  Random* random_;
  Where where_ = Where::kOff;
  uint32_t run_ = 0;
  char dir_[512] = {};
};

template <class Call>
bool Controller::Change(const char* what, Where after, Call call) {
  marker_->Tick(what);
  Is(Where::kChanging);
  const int error = call();
  if (error == CROSSCUT_OK) where_ = after;
  // Another start or stop under way for a second, on a busy machine: nothing has changed then.
  if (error != CROSSCUT_OK && error != CROSSCUT_ERUNNING && !TheWorld().disk_faults) {
    Found("%s: error %d: %s", what, error, crosscut_error());
  }
  Is(__atomic_load_n(&TheWorld().ends, __ATOMIC_SEQ_CST) ? Where::kChanging : where_);
  return error == CROSSCUT_OK;
}

void Controller::Start() {
  const bool fresh = next_run == 0 || random_->Chance(the_cast.new_dirs);
  run_ = fresh ? next_run++ : static_cast<uint32_t>(random_->Chance(80) ? next_run - 1 : run_);
  snprintf(dir_, sizeof dir_, "%s", RunDir(run_).c_str());
  const crosscut_options options = OptionsFor(dir_, random_);
  (void)Change("start", Where::kOn, [&] { return crosscut_start(&options); });
}

void Controller::Stop() {
  (void)Change("stop", Where::kOff, [] { return crosscut_stop(); });
}

// All whose call returned before is in the log, whatever thread marked it.
void Controller::Flush() {
  marker_->Tick("flush");
  char key[128];
  snprintf(key, sizeof key, "%s", crosscut_process_key());
  const uint64_t begin = crosscut_now();
  const int error = crosscut_flush();
  if (error != CROSSCUT_OK) {
    if (!TheWorld().disk_faults) Found("flush: error %d: %s", error, crosscut_error());
    return;
  }
  if (key[0] == '\0') return;
  const uint64_t bytes = format::RingLoad(record::Recorder::Get().ring()->header()->log_bytes);
  Note("flushes", "%u %s %llu %llu", run_, key, static_cast<unsigned long long>(begin),
       static_cast<unsigned long long>(bytes));
}

void Controller::Act() {
  if (__atomic_load_n(&steps_amid_pause, __ATOMIC_SEQ_CST) != 0) return;
  const uint64_t move = random_->Below(100);
  if (where_ == Where::kOff) {
    if (move < 90) Start();
    return;
  }
  if (move < 15) return Flush();
  if (move < 20) return static_cast<void>(crosscut_snapshot());
  if (the_cast.calm && where_ == Where::kOn && move < 60) return;
  if (where_ == Where::kPaused && move < 75) {
    (void)Change("resume", Where::kOn, [] { return crosscut_resume(); });
  } else if (move < 65) {
    (void)Change("pause", Where::kPaused, [] { return crosscut_pause(); });
  } else if (!the_cast.calm) {
    const bool at_once = random_->Chance(60);
    Stop();
    if (at_once) Start();
  }
}

// ---- Steps -------------------------------------------------------------------------------------

// Short of chunks while full ones wait for the drain. A small ring may be short of them for good:
// threads that have ended leave theirs half full.
bool MustBeEmptied(const record::ChunkRing& ring) {
  if (!ring.exhausted() || ring.clean() >= 6) return false;
  for (uint32_t i = 0; i < ring.prepared(); ++i) {
    const uint64_t state = format::RingLoad(ring.chunk(i)[format::kChunkState]);
    if (format::ChunkState(state) == format::kChunkFull) return true;
  }
  return false;
}

// While paused: more steps than the ring holds, no faster than it is emptied. Whoever empties it
// needs milliseconds, on a busy machine a second; where nobody does, steps are lost.
void StepAmidPause(Marker* marker) {
  constexpr int kSteps = 60'000, kLongestMs = 15'000;
  const record::ChunkRing* ring = record::Recorder::Get().ring();
  __atomic_store_n(&steps_amid_pause, 1, __ATOMIC_SEQ_CST);
  int waited = 0;
  for (int i = 0; i < kSteps && waited < kLongestMs && !marker->full(); ++i) {
    if (WhereIn(Here()) != Where::kPaused || Stopped()) break;
    (void)marker->Do(What::kStep, 0, 0,
                     [](Op* op) { op->number = static_cast<int64_t>(crosscut_step(0)); });
    if (i % 256 != 0) continue;
    for (waited = 0; waited < kLongestMs && MustBeEmptied(*ring); ++waited) {
      Nap(1000);
      marker->Tick("waits for the drain");
    }
  }
  if (waited >= kLongestMs) {
    Found("nobody empties the ring in a pause: %d ms with %u clean chunks", waited, ring->clean());
  }
  __atomic_store_n(&steps_amid_pause, 0, __ATOMIC_SEQ_CST);
}

// ---- Sources -----------------------------------------------------------------------------------

struct TestSource {
  int handle = 0;
  int removed = 0;  // atomic: crosscut_source_remove() returned
  int inside = 0;   // atomic: the process in which a call is in flight
  int calls = 0;
  bool removes_itself = false;
  bool slow = false;
  int level = 0;
};

int SetLevel(void* self, crosscut_level level) {
  auto* source = static_cast<TestSource*>(self);
  if (__atomic_load_n(&source->removed, __ATOMIC_SEQ_CST) != 0) {
    Found("set_level(%d) of a source after its removal", static_cast<int>(level));
  }
  // A forked child has a copy of a call that is in flight.
  if (__atomic_exchange_n(&source->inside, getpid(), __ATOMIC_SEQ_CST) == getpid()) {
    Found("set_level() of one source on two threads at once");
  }
  source->level = level;
  if (source->slow) Nap(1500);
  const int handle = __atomic_load_n(&source->handle, __ATOMIC_SEQ_CST);
  if (source->removes_itself && handle != 0 && ++source->calls > 3) {
    crosscut_source_remove(handle);
    __atomic_store_n(&source->removed, 1, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&source->inside, 0, __ATOMIC_SEQ_CST);
  if (the_cast.throws && level != 0) throw 7;
  return 0;
}

}  // namespace

void Controls(uint64_t seed) {
  Marker marker("controls");
  Random random(seed);
  Controller controller(&marker, &random);
  crosscut_follow_fork(1);
  controller.Start();
  while (!Stopped()) {
    controller.Act();
    marker.Tick("rests");
    const uint64_t longest = the_cast.steps_amid_pauses ? 900'000 : 120'000;
    Nap(random.Below(!the_cast.storm && random.Chance(20) ? longest
                     : the_cast.storm                     ? 1500
                                                          : 8'000));
  }
  if (controller.where() != Where::kOff && random.Chance(80)) controller.Stop();
}

void MakesSteps(uint64_t seed) {
  Marker marker("steps", 1'000'000);
  Random random(seed);
  crosscut_lead();
  for (uint64_t i = 0; !Stopped(); ++i) {
    if (the_cast.steps_amid_pauses && WhereIn(Here()) == Where::kPaused) StepAmidPause(&marker);
    if (!marker.full()) {
      LevelIs(false, false);
      (void)marker.Do(What::kStep, 0, 0,
                      [](Op* op) { op->number = static_cast<int64_t>(crosscut_step(0)); });
      LevelIs(true, crosscut_in_control() != 0);
    }
    // Some without a pause, so that a session begins amid one.
    if (the_cast.steps == Steps::kVaried && i % 64 != 0 && !marker.full()) continue;
    if (i % 64 == 7) crosscut_phase("a phase");
    if (i % 64 == 40) crosscut_phase(nullptr);
    if (random.Chance(10)) MarkAwhile(&marker, &random, 20);
    if (random.Chance(5)) crosscut_step_end();
    marker.Tick("rests");
    Nap(500);
  }
}

void AddsSources(uint64_t seed) {
  Marker marker("sources");
  Random random(seed);
  while (!Stopped()) {
    auto* source = new TestSource;  // for ever: a late call must find it
    source->removes_itself = random.Chance(30);
    source->slow = random.Chance(20);
    crosscut_source api = {};
    api.struct_size = sizeof api;
    char name[32];
    snprintf(name, sizeof name, "source %u", static_cast<unsigned>(random.Below(8)));
    api.name = name;
    api.version = "1";
    api.self = source;
    api.set_level = &SetLevel;
    marker.Tick("adds a source");
    const int handle = crosscut_source_add(&api);
    __atomic_store_n(&source->handle, handle, __ATOMIC_SEQ_CST);
    marker.Tick("rests");
    Nap(random.Below(60'000));
    if (handle == 0 || source->removes_itself) continue;
    marker.Tick("removes a source");
    crosscut_source_remove(handle);
    __atomic_store_n(&source->removed, 1, __ATOMIC_SEQ_CST);
  }
}

int SessionOfItsOwn(const char* run_dir, uint64_t seed) {
  Marker marker("program");
  Random random(seed);
  InternNames(&marker);
  const uint32_t run = static_cast<uint32_t>(atoi(strrchr(run_dir, '/') + 1));
  const crosscut_options options = OptionsFor(run_dir, &random);
  if (crosscut_start(&options) != CROSSCUT_OK) {
    if (!TheWorld().disk_faults) Found("start in a program: %s", crosscut_error());
    return 0;
  }
  SessionIs(Where::kOn, run, false);
  MarkAwhile(&marker, &random, 300);
  SessionIs(Where::kChanging, run, false);
  if (random.Chance(50)) (void)crosscut_stop();
  return 0;
}

}  // namespace crosscut::stress
