// C11 and C14: what start and stop do to threads of the program, and calls from many threads.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "src/check/harness/barrier.h"
#include "src/check/harness/options.h"
#include "src/check/harness/tf_status.h"
#include "src/check/harness/xspace_rules.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int64_t kMostBlockedNs = 10'000'000;
constexpr int kRounds = 5, kSessionsPerRound = 10;

// Time that this thread ran or waited for a processor.
int64_t RunOrRunnableNs() {
  long long ran = 0, waited = 0;
  FILE* file = fopen("/proc/thread-self/schedstat", "re");
  if (file == nullptr) return 0;
  if (fscanf(file, "%lld %lld", &ran, &waited) != 2) ran = waited = 0;
  fclose(file);
  return ran + waited;
}

// A thread of the program that uses the device all the time; the longest that one use was blocked.
class User {
 public:
  explicit User(std::mutex* lock) : lock_(lock), thread_([this] { Run(); }) {}
  ~User() {
    stop_.store(true);
    thread_.join();
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;
  int64_t TakeLongest() { return longest_.exchange(0); }

 private:
  void Run() {
    while (!stop_.load()) {
      const int64_t runnable = RunOrRunnableNs();
      const int64_t before = MonotonicNs();
      if (lock_ != nullptr) {
        const std::lock_guard held(*lock_);
        WorkNow(1);
      } else {
        WorkNow(1);
      }
      const int64_t wall = MonotonicNs() - before;
      const int64_t blocked = wall - (RunOrRunnableNs() - runnable);
      if (blocked > longest_.load()) longest_.store(blocked);
      usleep(50);
    }
  }

  std::mutex* lock_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> longest_{0};
  std::thread thread_;
};

void BlockedUsers(Plugin* plugin) {
  Phase("sessions while two threads use the device");
  User first(nullptr), second(nullptr);
  const int64_t end = EndOfBudget();
  int64_t least = INT64_MAX;
  for (int round = 0; round < kRounds && MonotonicNs() < end; ++round) {
    (void)first.TakeLongest(), (void)second.TakeLongest();
    for (int i = 0; i < kSessionsPerRound; ++i) {
      RunSession(plugin, {1, Collect::kFull, 500'000});
    }
    least = std::min(least, std::max(first.TakeLongest(), second.TakeLongest()));
  }
  Note("a thread that uses the device is blocked for " + std::to_string(least / 1000) + " us");
  if (least <= kMostBlockedNs) return;
  Fail("C11.blocks", "start or stop blocks a thread that uses the device for " +
                         std::to_string(least / 1'000'000) +
                         " ms, more than 10: hold no lock of "
                         "the device's API while you prepare or clean up");
}

// As with Python's global lock: it is held while start is called, and the others want it.
void WithALockOfTheProgram(Plugin* plugin) {
  Phase("start and stop while the caller holds a lock that other threads wait for");
  std::mutex lock;
  User first(&lock), second(&lock);
  for (int i = 0; i < kSessionsPerRound; ++i) {
    const std::lock_guard held(lock);
    RunSession(plugin, {1, Collect::kFull, 0});
  }
}

std::atomic<bool> paused{false};
void Pause(int) {
  while (paused.load()) usleep(200);
}

void WithAStoppedThread(Plugin* plugin) {
  Phase("sessions while a thread of the program stands still");
  struct sigaction action = {};
  action.sa_handler = Pause;
  sigaction(SIGUSR2, &action, nullptr);
  std::atomic<bool> end{false};
  std::thread still([&] {
    while (!end.load()) usleep(200);
  });
  paused.store(true);
  pthread_kill(still.native_handle(), SIGUSR2);
  for (int i = 0; i < kSessionsPerRound; ++i) RunSession(plugin, {1, Collect::kFull, 0});
  paused.store(false);
  end.store(true);
  still.join();
}

void WithAFork(Plugin* plugin) {
  Phase("a fork while a session runs");
  SetMockWork(kSomeWork);
  BeginPushSession();
  Session session;
  session.start = plugin->Start();
  WorkNow(1);
  ReportEnding(InFork([] { WorkNow(1); }), "C11");
  StopAndCollect(plugin, {}, &session);
  if (session.ok()) return;
  Fail("C11.fork", session.WhatFailed(plugin->message()) +
                       " after the program had forked: a "
                       "child must not end or take what its parent records");
}

// ---- C14 ----

// One of `calls`, on a copy of the struct and a status of this thread's own.
void RawCall(const Plugin& plugin, uint64_t choice) {
  TP_Profiler profiler = plugin.profiler();
  const HostStatus status;
  const TP_ProfilerFns& fns = plugin.fns();
  switch (choice % 5) {
    case 0:
    case 1: Guarded(Call::kStart, [&] { fns.start(&profiler, status.get()); }); break;
    case 2: Guarded(Call::kStop, [&] { fns.stop(&profiler, status.get()); }); break;
    case 3: WorkNow(2); break;
    default: {
      size_t size = 0;
      Guarded(Call::kQuery,
              [&] { fns.collect_data_xspace(&profiler, nullptr, &size, status.get()); });
      if (size == 0 || size > kMaxSpaceBytes) break;
      std::vector<uint8_t> buffer(size + 4096);
      Guarded(Call::kFetch,
              [&] { fns.collect_data_xspace(&profiler, buffer.data(), &size, status.get()); });
    }
  }
}

void ManyThreads(Plugin* plugin) {
  Phase("eight threads call start, stop and collect at once");
  const int64_t end = MonotonicNs() + 500'000'000;
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 8; ++number) {
    threads.emplace_back([plugin, number, end] {
      for (uint64_t i = 0; MonotonicNs() < end && i < 20'000; ++i) {
        RawCall(*plugin, Random(number << 32 | i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Each call on a thread that ends with it.
void OnThreadsOfTheirOwn(Plugin* plugin) {
  Phase("start, stop and collect on different threads");
  SetMockWork(kSomeWork);
  BeginPushSession();
  Session session;
  std::thread([&] { session.start = plugin->Start(); }).join();
  WorkNow(kSomeWork);
  usleep(500);
  std::thread([&] { session.stop = plugin->Stop(); }).join();
  EndPushSession();
  session.pushed = Pushed();
  std::thread([&] { session.query = plugin->Query(&session.size); }).join();
  if (session.query == TF_OK && session.size > 0 && session.size < kMaxSpaceBytes) {
    session.bytes.assign(session.size + 4096, '\0');
    session.fetched = session.size;
    std::thread([&] {
      session.fetch =
          plugin->Fetch(reinterpret_cast<uint8_t*>(session.bytes.data()), &session.fetched);
    }).join();
  }
  if (session.ok() && (session.output() || !WorkShows(plugin))) return;
  Fail("C14.threads",
       std::string("a session whose calls come from different threads ") +
           (session.ok() ? "gives no output" : "fails: " + session.WhatFailed(plugin->message())) +
           ": keep no state in thread-local variables");
}

}  // namespace

void RunDeadlocks() {
  WithAndWithoutPushTable("C11", [](Plugin* plugin, bool) {
    RunSession(plugin, {kSomeWork, Collect::kFull, 0});  // the first one may prepare
    if (HasWorkLibrary()) {
      BlockedUsers(plugin);
      WithALockOfTheProgram(plugin);
    }
    WithAStoppedThread(plugin);
    WithAFork(plugin);
  });
}

void RunRaces() {
  WithAndWithoutPushTable("C14", [](Plugin* plugin, bool) {
    OnThreadsOfTheirOwn(plugin);
    ManyThreads(plugin);
    Phase("a session after that");
    plugin->Stop();
    const Session session = RunSession(plugin, {kSomeWork, Collect::kFull, 0});
    if (session.ok()) return;
    Fail("C14.recovery", session.WhatFailed(plugin->message()) +
                             " after eight threads had called "
                             "at once: guard the plugin's state with a lock");
  });
}

}  // namespace crosscut::check
