// Who forks: children that record, that run another program, that end in every way.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/stress/actors.h"

extern "C" char** environ;

namespace crosscut::stress {
namespace {

int fail_in_child = 0;  // the forking thread's alone

struct How {
  bool marks, memory_fails, disk_may_fail;
  int ending;  // 0 exit, 1 _exit, 2 killed
  uint64_t seed;
};

[[noreturn]] void Child(const How& how) {
  Random random(how.seed);
  const Place place = Here();
  if (how.marks) {
    Marker marker("child");
    const bool records = WhereIn(place) == Where::kOn && !how.memory_fails && !how.disk_may_fail;
    SessionIs(records ? Where::kOn : Where::kChanging, (RunOf(place) & kRunMask), false);
    MarkAwhile(&marker, &random, 150);
    if (the_cast.steps == Steps::kFull && random.Chance(50)) {
      for (int i = 0; i < 5; ++i) {
        (void)marker.Do(What::kStep, 0, 0,
                        [](Op* op) { op->number = static_cast<int64_t>(crosscut_step(0)); });
        MarkAwhile(&marker, &random, 10);
      }
    }
    SessionIs(Where::kChanging, (RunOf(place) & kRunMask), false);
    if (random.Chance(30)) (void)crosscut_stop();
  }
  if (how.ending == 0) exit(3);
  if (how.ending == 2) kill(getpid(), SIGKILL);
  _exit(3);
}

void Await(pid_t child, Marker* marker, const char* what, int expected) {
  char words[16];
  snprintf(words, sizeof words, "child %d", child);
  marker->Tick(words);
  if (child <= 0) return Found("%s: no child", what);
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) != child;) {
    if (ended < 0) return;
    Nap(500);
  }
  if (status != expected) Found("%s: child %d ended with status %#x", what, child, status);
}

void Fork(Marker* marker, Random* random) {
  How how = {random->Chance(85), random->Chance(10), the_cast.disk == Disk::kFull, 0,
             random->Next()};
  how.ending = static_cast<int>(random->Below(3));
  fail_in_child = how.memory_fails ? static_cast<int>(1 + random->Below(5)) : 0;
  const pid_t child = fork();
  if (child == 0) Child(how);
  fail_in_child = 0;
  Await(child, marker, how.memory_fails ? "fork, no memory" : "fork",
        how.ending == 2 ? SIGKILL : 3 << 8);
}

void Spawn(Marker* marker, Random* random, bool by_vfork) {
  const std::string dir = TheWorld().dir, run = RunDir(RunOf(Here()) & kRunMask);
  const std::string seed = std::to_string(random->Below(1 << 30));
  const std::string faults = TheWorld().disk_faults ? "1" : "0";
  const char* arguments[] = {"/proc/self/exe", "program",      dir.c_str(), run.c_str(),
                             seed.c_str(),     faults.c_str(), nullptr};
  auto** words = const_cast<char**>(arguments);
  pid_t child = 0;
  if (by_vfork) {
    child = vfork();
    if (child == 0) {
      execve(words[0], words, environ);
      _exit(99);
    }
  } else if (posix_spawn(&child, words[0], nullptr, nullptr, words, environ) != 0) {
    child = 0;
  }
  Await(child, marker, by_vfork ? "vfork" : "posix_spawn", 0);
}

}  // namespace

void ArmChildrensMemory() {
  (void)pthread_atfork(nullptr, nullptr, [] {
    if (fail_in_child != 0) FailMappings(fail_in_child);
  });
}

void Forks(uint64_t seed) {
  Marker marker("forks");
  Random random(seed);
  while (!Stopped()) {
    const uint64_t move = random.Below(100);
    if (move < 80) {
      Fork(&marker, &random);
    } else {
      Spawn(&marker, &random, move < 90);
    }
    marker.Tick("rests");
    Nap(random.Below(25'000));
  }
}

}  // namespace crosscut::stress
