// The tests, one function each; each runs in a process of its own that it may leave in any state.
// What they find goes to the board.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "src/check/harness/board.h"
#include "src/check/harness/driver.h"

namespace crosscut::check {

struct Test {
  const char* id;    // "C7"
  int level;         // the lowest at which it runs
  const char* name;  // what it shows
  void (*run)();
  double seconds;     // the test is ended after so long, on top of what options add
  bool alone;         // measures time, so nothing else runs beside it
  const char* needs;  // tests whose failure would show here again: "C6 C7"
};

std::span<const Test> Tests();
// Null where there is none; "trial" is the first sessions of all, "registration" what
// comes before them; their findings belong to others.
const Test* FindTest(const std::string& id);

void RunTrial();
void RunRegistration();
void RunLoad();         // C1
void RunAbi();          // C2
void RunNoDevice();     // C3
void RunNoWork();       // C4
void RunRestart();      // C5
void RunMisuse();       // C6
void RunCollect();      // C7
void RunValidity();     // C8
void RunLeaks();        // C9
void RunMemoryLimit();  // C10
void RunDeadlocks();    // C11
void RunOverhead();     // C12
void RunCorruption();   // C13
void RunRaces();        // C14
void RunHygiene();      // C15
void RunEndings();      // C16
void RunExceptions();   // C17
void RunFuzz();         // C18
void RunSoak();         // C19

// How a process ended.
struct Ending {
  int wait_status = 0;
  Call call = Call::kNone;  // in flight when it ended
  bool normal() const { return wait_status == 0 && call == Call::kNone; }
  bool crashed() const;
  // "crashed (signal 11, Segmentation fault) in start", "called exit(3) in stop"
  std::string Words() const;
};

// Runs `body` in a fork of this process, which then ends by _exit(0).
Ending InFork(const std::function<void()>& body);
// Waits for a fork of this process.
Ending WaitFor(int pid);
// What a crashed or exited process means for a test: findings "<id>.crash", "<id>.exit".
void ReportEnding(const Ending& ending, const std::string& id);

// A plugin with the push table and one without it, in a fork each.
void WithAndWithoutPushTable(const std::string& id,
                             const std::function<void(Plugin*, bool with)>& body);

// A session with three pieces of work gives output; else skips the test and says why.
bool HasOutput(Plugin* plugin);
// Whether it is the work that makes output: some gives it and none does not. False also for devices
// that work by themselves, of which no count is expected.
bool WorkShows(Plugin* plugin);
constexpr uint64_t kSomeWork = 3;
// CLOCK_MONOTONIC, when a test is to stop repeating itself.
int64_t EndOfBudget();

}  // namespace crosscut::check
