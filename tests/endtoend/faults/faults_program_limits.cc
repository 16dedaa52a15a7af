// Modes of faults_program about limits: bursts, memory, missing shared memory, other programs.
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/endtoend/faults/faults_program.h"

extern char** environ;

namespace crosscut::faults {
namespace {

// burst DIR SPANS MEMORY-MIB: all in one go, right after the start.
int Burst(char** arguments) {
  if (!Start(arguments[0], static_cast<size_t>(atoll(arguments[2])) << 20)) return 1;
  const long long spans = atoll(arguments[1]);
  for (long long i = 0; i < spans; ++i) {
    crosscut_begin_inline(seq_name);
    crosscut_end_inline();
  }
  return crosscut_stop();
}

void ResetPeak() {
  FILE* file = fopen("/proc/self/clear_refs", "w");
  fputs("5", file);
  fclose(file);
}

// cap DIR MEMORY-MIB EVENTS: 64 threads, there before the start, record more than the cap holds;
// tells how many KiB the process grew by at its peak.
int Cap(char** arguments) {
  constexpr int kThreads = 64;
  const auto events = static_cast<uint64_t>(atoll(arguments[2]));
  std::barrier<> ready(kThreads + 1), go(kThreads + 1);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      go.arrive_and_wait();
      for (uint64_t i = 1; i <= events; ++i) Record(t, i);
    });
  }
  ready.arrive_and_wait();
  ResetPeak();
  const long before = StatusOf("VmRSS:");
  if (!Start(arguments[0], static_cast<size_t>(atoll(arguments[1])) << 20)) exit(1);
  go.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  printf("%ld\n", StatusOf("VmHWM:") - before);
  return crosscut_stop();
}

// flight DIR EVENTS: a flight recorder of 2 MiB, written out at the end.
int Flight(char** arguments) {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = arguments[0];
  options.memory_bytes = 2 << 20;
  options.policy = CROSSCUT_FLIGHT_RECORDER;
  if (!Start(options)) return 1;
  const auto events = static_cast<uint64_t>(atoll(arguments[1]));
  for (uint64_t i = 1; i <= events; ++i) Record(0, i);
  if (crosscut_snapshot() != CROSSCUT_OK) return 2;
  return crosscut_stop();
}

bool OwnMounts() {
  if (unshare(CLONE_NEWNS) != 0) {
    const uid_t uid = getuid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    FILE* map = fopen("/proc/self/uid_map", "w");
    if (map == nullptr) return false;
    fprintf(map, "0 %u 1", uid);
    if (fclose(map) != 0) return false;
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// shm DIR SIZE: /dev/shm has SIZE ("2m"), or is missing ("none"). 77: mounting is not allowed here.
int SmallShm(char** arguments) {
  if (!OwnMounts()) return 77;
  const bool none = strcmp(arguments[1], "none") == 0;
  const std::string size = std::string("size=") + (none ? "1m" : arguments[1]);
  if (mount("tmpfs", none ? "/dev" : "/dev/shm", "tmpfs", 0, size.c_str()) != 0) return 77;
  if (!Start(arguments[0])) return 1;
  for (uint64_t i = 1; i <= 50'000; ++i) {
    Record(0, i);
    if (i % 1000 == 0) usleep(1000);
  }
  // The ring goes with the mount: what the log is to hold must be there before.
  return crosscut_snapshot() != CROSSCUT_OK ? 2 : crosscut_stop();
}

__attribute__((noinline)) pid_t RunByVfork(char* const* argv) {
  const pid_t child = vfork();
  if (child == 0) {
    execv("/bin/true", argv);
    _exit(127);
  }
  return child;
}

// spawns DIR COUNT: four threads record while the main thread runs programs by vfork and by
// posix_spawn.
int Spawns(char** arguments) {
  if (!Start(arguments[0])) return 1;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  uint64_t recorded[5] = {};
  for (uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([t, &stop, &recorded] {
      while (!stop.load(std::memory_order_relaxed)) {
        Record(t, ++recorded[t]);
        if (recorded[t] % 16 == 0) usleep(200);
      }
    });
  }
  const int count = atoi(arguments[1]);
  char name[] = "true";
  char* const argv[] = {name, nullptr};
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    Record(0, static_cast<uint64_t>(i) + 1);
    pid_t child = -1;
    if (i % 2 == 0) {
      child = RunByVfork(argv);
    } else if (posix_spawn(&child, "/bin/true", nullptr, nullptr, argv, environ) != 0) {
      ++bad;
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) ++bad;
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  printf("0 %d\n", count);
  for (int t = 1; t <= 4; ++t) printf("%d %llu\n", t, static_cast<unsigned long long>(recorded[t]));
  return bad != 0 ? 2 : crosscut_stop();
}

// chain DIR LEFT PROGRAM: ten events, then the same program again in this process, LEFT times.
int Chain(char** arguments) {
  if (!Start(arguments[0])) return 1;
  for (uint64_t i = 1; i <= 10; ++i) Record(0, i);
  const int left = atoi(arguments[1]);
  if (left == 0) return 0;
  setenv("CROSSCUT_PARENT", crosscut_process_key(), 1);
  execl(arguments[2], arguments[2], "chain", arguments[0], std::to_string(left - 1).c_str(),
        arguments[2], nullptr);
  return 2;
}

// names DIR: names of 1 MiB and of more, used.
int LongNames(char** arguments) {
  if (!Start(arguments[0], 64 << 20)) return 1;
  for (const size_t bytes : {size_t{1} << 20, (size_t{1} << 20) + 1, size_t{3} << 20}) {
    const std::string text(bytes, 'n');
    const uint32_t id =
        crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
    if (id == 0) return 2;
    crosscut_begin(id);
    crosscut_end();
  }
  return crosscut_stop();
}

}  // namespace

int MoreModes(const std::string& mode, char** arguments) {
  if (mode == "burst") return Burst(arguments);
  if (mode == "cap") return Cap(arguments);
  if (mode == "flight") return Flight(arguments);
  if (mode == "shm") return SmallShm(arguments);
  if (mode == "spawns") return Spawns(arguments);
  if (mode == "chain") return Chain(arguments);
  if (mode == "names") return LongNames(arguments);
  return SessionModes(mode, arguments);
}

}  // namespace crosscut::faults
