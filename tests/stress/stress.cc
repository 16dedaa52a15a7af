// A program that does at random, by a seed, everything that the recording half allows, and counts
// what it did; and the checker that compares that with what a reader finds.
//
//   stress run SEED DIR        DIR: an empty folder
//   stress check DIR           prints what is wrong, a line each; exits 1 if anything is
//   stress cast SEED           what the seed has; STRESS_CAST changes it, by words
//   stress program DIR RUN SEED FAULTS   a program of its own in the run, of `run`
#include <execinfo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/stress/actors.h"
#include "tests/stress/check.h"

#ifdef CROSSCUT_PREEMPT_POINTS
#include "src/base/preempt.h"
#endif

namespace crosscut::stress {

Cast the_cast;

Cast CastOf(uint64_t seed) {
  Random random(seed * 7 + 1);
  Cast cast;
  cast.markers = static_cast<uint32_t>(1 + random.Below(3));
  cast.pool = random.Chance(50);
  cast.forks = random.Chance(50);
  cast.sources = random.Chance(40);
  cast.plugin = random.Chance(30);
  cast.names = random.Chance(60);
  cast.calm = random.Chance(15);
  cast.storm = !cast.calm && random.Chance(40);
  cast.new_dirs = random.Chance(50) ? 0 : static_cast<uint32_t>(random.Below(101));
  if (cast.storm && random.Chance(30)) cast.new_dirs = 100;
  constexpr uint64_t kMemories[] = {2 << 20, 8 << 20, 16 << 20, 32 << 20};
  cast.memory = kMemories[random.Below(4)];
  cast.flight = random.Chance(6);
  constexpr Steps kSteps[] = {Steps::kNone,    Steps::kFull,   Steps::kFull,  Steps::kFull,
                              Steps::kControl, Steps::kBudget, Steps::kVaried};
  cast.steps = kSteps[random.Below(7)];
  cast.steps_amid_pauses = cast.steps == Steps::kFull && random.Chance(20);
  if (random.Chance(25)) cast.disk = static_cast<Disk>(1 + random.Below(3));
  cast.ending = static_cast<Ending>(random.Chance(60) ? 0 : random.Below(6));
#ifdef __SANITIZE_ADDRESS__
  cast.forks = false;  // its allocator's locks are not made anew in a forked child
#endif
  if (cast.steps_amid_pauses) cast.memory = 2 << 20, cast.calm = true, cast.ms = 4000;
  if (cast.disk == Disk::kFull) cast.calm = random.Chance(60);
  cast.comma = random.Chance(20);
  cast.throws = cast.sources && random.Chance(15);
  cast.many_names = cast.forks && cast.names && random.Chance(30);
  if (cast.disk == Disk::kStalls) cast.memory = 2 << 20, cast.names = true, cast.ms = 4500;
  // Where nothing is expected within a time.
  const bool timeless = cast.disk == Disk::kFast && cast.steps <= Steps::kFull;
  cast.days = timeless && !cast.steps_amid_pauses && random.Chance(20);
  if (cast.days) cast.calm = true, cast.storm = false, cast.ms = 4500;
  return cast;
}

namespace {

// Changes the cast by words of STRESS_CAST, to look for one thing.
Cast Changed(Cast cast) {
  const char* list = getenv("STRESS_CAST");
  const std::string words = list == nullptr ? "" : list;
  const auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
  if (has("storm")) cast.storm = true, cast.calm = false;
  if (has("alone")) cast.forks = cast.sources = cast.plugin = cast.flight = false;
  if (has("forks")) cast.forks = true;
  if (has("plugin")) cast.plugin = true;
  if (has("pool")) cast.pool = true;
  if (has("new-dirs")) cast.new_dirs = 100;
  if (has("one-dir")) cast.new_dirs = 0;
  if (has("full-steps")) cast.steps = Steps::kFull;
  if (has("varied-steps")) cast.steps = Steps::kVaried;
  if (has("amid-pauses")) {
    cast.steps = Steps::kFull, cast.steps_amid_pauses = cast.calm = true;
    cast.memory = 2 << 20, cast.ms = 8000;
  }
  if (has("fast-disk")) cast.disk = Disk::kFast;
  if (has("throws")) cast.throws = cast.sources = true;
  if (has("many-names")) cast.many_names = cast.names = cast.forks = true;
  if (has("comma")) cast.comma = true;
  if (has("days")) {
    cast.steps = Steps::kNone, cast.disk = Disk::kFast, cast.steps_amid_pauses = false;
    cast.days = cast.calm = true, cast.storm = false, cast.ms = 4500;
  }
  if (has("returns")) cast.ending = Ending::kReturn;
  return cast;
}

const char* NameOf(Ending ending) {
  constexpr const char* kNames[] = {"return", "exit amid",    "_exit amid",
                                    "kill",   "thread exits", "main leaves"};
  return kNames[static_cast<int>(ending)];
}

void Print(const Cast& cast) {
  constexpr const char* kSteps[] = {"no", "full", "control", "budget", "varied"};
  constexpr const char* kDisks[] = {"fast", "slow", "stalls", "full"};
  printf("%u markers%s%s%s%s%s%s%s%s%s, %u%% new dirs, %llu MiB, %s steps%s, disk %s, %s\n",
         cast.markers, cast.pool ? ", pool" : "", cast.forks ? ", forks" : "",
         cast.throws    ? ", sources that throw"
         : cast.sources ? ", sources"
                        : "",
         cast.plugin ? ", plugin" : "",
         cast.many_names ? ", many names"
         : cast.names    ? ", names"
                         : "",
         cast.days ? ", days" : "", cast.comma ? ", comma" : "",
         cast.calm    ? ", calm"
         : cast.storm ? ", storm"
                      : "",
         cast.flight ? ", flight" : "", cast.new_dirs,
         static_cast<unsigned long long>(cast.memory >> 20), kSteps[static_cast<int>(cast.steps)],
         cast.steps_amid_pauses ? " amid pauses" : "", kDisks[static_cast<int>(cast.disk)],
         NameOf(cast.ending));
}

struct Thread {
  void (*body)(uint64_t);
  uint64_t seed;
};

void* Body(void* at) {
  const auto* thread = static_cast<Thread*>(at);
  thread->body(thread->seed);
  return nullptr;
}

std::vector<pthread_t> StartAll(Random* random) {
  const Cast& cast = the_cast;
  std::vector<pthread_t> threads;
  const auto start = [&](void (*body)(uint64_t), uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, &Body, new Thread{body, random->Next()}) != 0) abort();
      threads.push_back(thread);
    }
  };
  start(&Controls, 1);
  start(&Marks, cast.markers);
  start(&Pool, cast.pool ? 1 : 0);
  start(&MakesSteps, cast.steps != Steps::kNone ? 1 : 0);
  start(&Forks, cast.forks ? 1 : 0);
  start(&Days, cast.days ? 1 : 0);
  start(&AddsSources, cast.sources ? 1 : 0);
  start(&WorksTheDisk, cast.disk != Disk::kFast ? 1 : 0);
  return threads;
}

int End(const std::vector<pthread_t>& threads) {
  __atomic_store_n(&TheWorld().ends, true, __ATOMIC_SEQ_CST);
  switch (the_cast.ending) {
    case Ending::kExitAmid: exit(5);
    case Ending::kUnderscoreExit: _exit(6);
    case Ending::kKill: kill(getpid(), SIGKILL); break;
    case Ending::kThreadExit: {
      pthread_t thread;
      pthread_create(
          &thread, nullptr, [](void*) -> void* { exit(7); }, nullptr);
      pthread_join(thread, nullptr);
      break;
    }
    case Ending::kMainLeaves:
      __atomic_store_n(&TheWorld().stop, true, __ATOMIC_RELEASE);
      for (const pthread_t thread : threads) pthread_detach(thread);
      pthread_exit(nullptr);
    case Ending::kReturn: break;
  }
  __atomic_store_n(&TheWorld().stop, true, __ATOMIC_RELEASE);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return 4;
}

// Where it crashed, as addresses for addr2line: run.py.
void TellCrash() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  struct sigaction action = {};
  action.sa_flags = SA_RESETHAND;
  action.sa_handler = [](int) {
    void* frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  };
  void* frame;
  (void)backtrace(&frame, 1);  // loads what it needs
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
#endif
}

int Run(uint64_t seed, const std::string& dir) {
  the_cast = Changed(CastOf(seed));
  OpenWorld(dir, seed);
  TheWorld().disk_faults = the_cast.disk == Disk::kFull;
  Random random(seed);
  if (the_cast.comma) (void)setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where run.py could make it
  if (the_cast.days) OwnClock();
  if (the_cast.plugin) setenv("CROSSCUT_PLUGINS", STRESS_PLUGIN, 1);
  TellCrash();
  Marker marker("main");
  InternNames(&marker);
#ifdef CROSSCUT_PREEMPT_POINTS
  crosscut_preempt_seed(seed + 1);
#endif
  const std::vector<pthread_t> threads = StartAll(&random);
  for (uint64_t ms = 0; ms < the_cast.ms; ms += 10) Nap(10'000), marker.Tick("waits");
  marker.Tick(NameOf(the_cast.ending));
  return End(threads);
}

// Before the library's handlers, which its own constructor registers.
__attribute__((constructor(101))) void First() { ArmChildrensMemory(); }

}  // namespace
}  // namespace crosscut::stress

int main(int count, char** arguments) {
  using namespace crosscut::stress;
  const std::string mode = count > 2 ? arguments[1] : "";
  if (mode == "run" && count == 4) return Run(strtoull(arguments[2], nullptr, 10), arguments[3]);
  if (mode == "check") return Check(arguments[2]);
  if (mode == "cast") {
    Print(Changed(CastOf(strtoull(arguments[2], nullptr, 10))));
    return 0;
  }
  if (mode == "program" && count == 6) {
    const uint64_t seed = strtoull(arguments[4], nullptr, 10);
    unsetenv("CROSSCUT_PLUGINS");
    OpenWorld(arguments[2], seed);
    TheWorld().disk_faults = arguments[5][0] == '1';
    return SessionOfItsOwn(arguments[3], seed);
  }
  fprintf(stderr, "usage: stress run SEED DIR | check DIR | cast SEED\n");
  return 98;
}
