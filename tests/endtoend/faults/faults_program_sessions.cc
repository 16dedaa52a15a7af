// Modes of faults_program about the edges of sessions: what records before and after main(), exits
// in every state, stops while other threads record.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/endtoend/faults/faults_program.h"

namespace crosscut::faults {
namespace {

bool wanted;  // else the other modes would find its events, too

// Records when it is made and when it is destroyed; what comes before the session is off.
class RecordsBothEnds {
 public:
  RecordsBothEnds() { RecordNext(); }
  ~RecordsBothEnds() { RecordNext(); }
  static void RecordNext() {
    if (wanted && crosscut_active()) Record(0, ++recorded_);
  }

 private:
  static uint64_t recorded_;
};
uint64_t RecordsBothEnds::recorded_ = 0;

RecordsBothEnds before_main;

// statics DIR: objects made before main(), before the start and after it record as they are
// destroyed, and so does a handler of exit().
int Statics(char** arguments) {
  wanted = true;
  static RecordsBothEnds before_start;
  if (atexit(&RecordsBothEnds::RecordNext) != 0) return 1;
  if (!Start(arguments[0])) return 1;
  static RecordsBothEnds after_start;
  return atexit(&RecordsBothEnds::RecordNext) == 0 ? 3 : 1;
}

// state DIR STATE: exits in one state of a session.
int State(char** arguments) {
  const std::string state = arguments[1];
  if (!Start(arguments[0])) return 1;
  if (state == "started") exit(12);
  Record(0, 1);
  if (state == "paused" && crosscut_pause() != CROSSCUT_OK) return 1;
  if (state == "resumed" && (crosscut_pause() != CROSSCUT_OK || crosscut_resume() != CROSSCUT_OK)) {
    return 1;
  }
  if (state == "stopped" && crosscut_stop() != CROSSCUT_OK) return 1;
  std::thread snapshots;
  if (state == "snapshot") {
    snapshots = std::thread([] {
      while (crosscut_snapshot() == CROSSCUT_OK) {
      }
    });
    usleep(1000);
  }
  exit(12);
}

// races DIR COUNT: eight threads record while sessions start and stop.
int Races(char** arguments) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 8; ++t) {
    threads.emplace_back([t, &stop] {
      for (uint64_t number = 1; !stop.load(std::memory_order_relaxed); ++number) {
        crosscut_begin_inline(seq_name);
        Record(t, number);
        crosscut_end_inline();
        if (number % 64 == 0) usleep(100);
      }
    });
  }
  const int count = atoi(arguments[1]);
  int error = CROSSCUT_OK;
  for (int i = 0; i < count && error == CROSSCUT_OK; ++i) {
    if (!Start(arguments[0])) _exit(1);  // the threads go on
    if (i % 4 == 0) usleep(200);
    error = crosscut_stop();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  return error;
}

}  // namespace

int SessionModes(const std::string& mode, char** arguments) {
  if (mode == "statics") return Statics(arguments);
  if (mode == "state") return State(arguments);
  if (mode == "races") return Races(arguments);
  return SignalModes(mode, arguments);
}

}  // namespace crosscut::faults
