// Marks that come at the wrong time: out of signal handlers, into a run that is not the thread's
// last one.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "tests/endtoend/faults/faults_program.h"

namespace crosscut::faults {
namespace {

constexpr uint64_t kHandlers = 4096;  // a handler's events are those of thread kHandlers + its own

thread_local uint64_t this_thread = 0, in_handlers = 0;
std::atomic<uint64_t> handled{0};

void Three(uint64_t thread, uint64_t number) {
  crosscut_begin_inline(seq_name);
  Record(thread, number);
  crosscut_end_inline();
}

void OnSignal(int) {
  const int saved = errno;
  Three(kHandlers + this_thread, ++in_handlers);
  handled.fetch_add(1);
  errno = saved;
}

void Block(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(how, &set, nullptr);
}

// A thread that marks until its end, which tells how far it came.
class Marker {
 public:
  Marker() {
    Block(SIG_BLOCK);  // in the new thread until it knows its number
    pthread_create(&thread_, nullptr, &Marker::Main, this);
    Block(SIG_UNBLOCK);
  }
  ~Marker() {
    stop_.store(true);
    pthread_join(thread_, nullptr);
    printf("%llu %llu\n", static_cast<unsigned long long>(number_),
           static_cast<unsigned long long>(marked_));
  }
  void Interrupt() const { pthread_kill(thread_, SIGUSR1); }

 private:
  static void* Main(void* self) {
    auto* marker = static_cast<Marker*>(self);
    this_thread = marker->number_;
    Block(SIG_UNBLOCK);
    while (!marker->stop_.load(std::memory_order_relaxed)) {
      Three(this_thread, ++marker->marked_);
      if (marker->marked_ % 64 == 0) usleep(1000);
    }
    return nullptr;
  }
  static inline uint64_t last_ = 0;
  const uint64_t number_ = ++last_;
  uint64_t marked_ = 0;
  std::atomic<bool> stop_{false};
  pthread_t thread_;
};

void WaitForChild() {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR1);
    _exit(0);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) _exit(3);
}

// handlers DIR COUNT [sessions]: COUNT signals whose handler marks, sent to four threads that mark,
// one of which gives way to another every hundred signals; and to this one, which forks, and starts
// and stops sessions. Prints how far each thread came.
int Handlers(char** arguments) {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  if (!Start(arguments[0])) return 1;
  const uint64_t count = strtoull(arguments[1], nullptr, 10);
  const bool sessions = arguments[2] != nullptr;
  std::unique_ptr<Marker> markers[4];
  for (auto& marker : markers) marker = std::make_unique<Marker>();
  for (uint64_t i = 0; i < count; ++i) {
    markers[i % 4]->Interrupt();
    raise(SIGUSR1);
    if (i % 100 == 99) {
      markers[i / 100 % 4] = std::make_unique<Marker>();
      WaitForChild();
      // So that the ring is never full. Under a sanitizer on a busy machine the drain may take more
      // than the ten seconds that a snapshot waits.
      for (int tries = 0; crosscut_snapshot() != CROSSCUT_OK; ++tries) {
        if (tries == 6) _exit(4);
      }
    }
    if (!sessions || i % 50 != 49) continue;
    if (crosscut_stop() != CROSSCUT_OK || !Start(arguments[0])) _exit(2);
  }
  for (auto& marker : markers) marker.reset();
  printf("0 %llu\n", static_cast<unsigned long long>(handled.load()));
  return crosscut_stop();
}

// runs DIR: a thread marks in the first and the third of three runs, each with a ring of its own,
// of which the third lies where the first one lay; in the third the main thread marks, too.
int Runs(char** arguments) {
  sem_t turn, done;
  sem_init(&turn, 0, 0);
  sem_init(&done, 0, 0);
  std::thread other([&] {
    for (int run = 0; run < 2; ++run) {
      sem_wait(&turn);
      for (uint64_t i = 1; i <= 100; ++i) Three(1, i);
      sem_post(&done);
    }
  });
  int error = CROSSCUT_OK;
  for (int run = 0; run < 3 && error == CROSSCUT_OK; ++run) {
    // A ring that is a little smaller fits where the first one was.
    const size_t memory = (16 << 20) - (run == 2 ? 40 << 10 : 0);
    if (!Start((std::string(arguments[0]) + std::to_string(run)).c_str(), memory)) _exit(1);
    if (run == 2) {
      for (uint64_t i = 1; i <= 20'000; ++i) Three(0, i);
    }
    if (run != 1) {
      sem_post(&turn);
      sem_wait(&done);
    }
    error = crosscut_stop();
  }
  other.join();
  return error;
}

}  // namespace

int SignalModes(const std::string& mode, char** arguments) {
  if (mode == "handlers") return Handlers(arguments);
  if (mode == "runs") return Runs(arguments);
  return 97;
}

}  // namespace crosscut::faults
