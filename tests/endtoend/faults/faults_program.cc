// A program without Python in which one thing goes wrong, chosen by its first argument. It tells
// what it recorded on stdout or in a shared file; faults_test.cc compares that with what a reader
// finds. Every event carries its number: counters named "seq", value = thread << 40 | number.
#include "tests/endtoend/faults/faults_program.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crosscut/crosscut.h"

namespace crosscut::faults {

uint32_t seq_name;

bool Start(const char* dir, size_t memory) {
  if (strcmp(dir, "-") == 0) return true;  // the same program, not recorded
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = dir;
  options.memory_bytes = memory;
  options.control_percent = 0;
  return Start(options);
}

bool Start(const crosscut_options& options) {
  if (crosscut_start(&options) == CROSSCUT_OK) return true;
  fprintf(stderr, "start: %s\n", crosscut_error());
  return false;
}

long CountIn(const char* path) {
  FILE* file = fopen(path, "r");
  long lines = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

long StatusOf(const char* key) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  long value = -1;
  while (fgets(line, sizeof line, file) != nullptr) {
    if (strncmp(line, key, strlen(key)) == 0) value = atol(line + strlen(key));
  }
  fclose(file);
  return value;
}

namespace {

std::atomic<uint64_t>* SharedCounters(const char* path) {
  const int fd = open(path, O_RDWR);
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return static_cast<std::atomic<uint64_t>*>(at);
}

// A flight recorder of so few bytes that it forgets all the time.
bool StartSmallFlight(const char* dir) {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = dir;
  options.memory_bytes = 1 << 20;
  options.policy = CROSSCUT_FLIGHT_RECORDER;
  return Start(options);
}

// kill DIR THREADS ACKNOWLEDGED-FILE [flight]: records until killed. Counter i of the file is the
// number of thread i's last event whose call returned; counter 63 tells that all are running.
int Kill(char** arguments) {
  const int threads = atoi(arguments[1]);
  auto* acknowledged = SharedCounters(arguments[2]);
  const bool flight = arguments[3] != nullptr;
  if (flight ? !StartSmallFlight(arguments[0]) : !Start(arguments[0])) return 1;
  for (int t = 0; t < threads; ++t) {
    std::thread([t, acknowledged, flight] {
      for (uint64_t number = 1;; ++number) {
        crosscut_begin_inline(seq_name);
        Record(static_cast<uint64_t>(t), number);
        crosscut_end_inline();
        acknowledged[t].store(number, std::memory_order_release);
        if (!flight && number % 32 == 0) usleep(200);
      }
    }).detach();
  }
  acknowledged[63].store(1);
  for (;;) pause();
}

[[noreturn]] void ThrowOut() { throw std::runtime_error("out of main"); }

// end DIR HOW: 100 events, then one of the ways in which a process ends.
int End(char** arguments) {
  if (!Start(arguments[0])) return 1;
  for (uint64_t i = 1; i <= 100; ++i) Record(0, i);
  puts("output");
  fflush(stdout);
  const std::string how = arguments[1];
  if (how == "return") return 3;
  if (how == "exit") exit(4);
  if (how == "_exit") _exit(5);
  if (how == "quick_exit") quick_exit(6);
  if (how == "throw") ThrowOut();
  if (how == "abort") abort();
  if (how == "pthread_exit") pthread_exit(nullptr);
  if (how == "term") raise(SIGTERM);
  if (how == "kill") raise(SIGKILL);
  if (how == "segv") raise(SIGSEGV);
  if (how == "thread_exit") std::thread([] { exit(7); }).join();
  if (how == "raw_exit") syscall(SYS_exit, 9);
  if (how == "raw_exit_before_others") {
    std::thread([] { usleep(200'000); }).detach();
    syscall(SYS_exit, 10);
  }
  if (how == "exec") execl("/bin/sh", "sh", "-c", "exit 8", nullptr);
  return 99;
}

struct RecordsAtEnd {
  ~RecordsAtEnd() { Record(1, 2); }
};
pthread_key_t late_keys[2];
int rounds_left[2] = {3, 3};
void LateDestructor(void* value) {
  const auto which = reinterpret_cast<intptr_t>(value) - 1;
  Record(2 + static_cast<uint64_t>(which), 4 - static_cast<uint64_t>(rounds_left[which]));
  if (--rounds_left[which] > 0) pthread_setspecific(late_keys[which], value);
}

// destructors DIR: a thread whose destructors record: one of thread_local, two of keys with rounds.
int Destructors(char** arguments) {
  pthread_key_create(&late_keys[0], LateDestructor);
  if (!Start(arguments[0])) return 1;
  pthread_key_create(&late_keys[1], LateDestructor);
  std::thread([] {
    thread_local RecordsAtEnd at_end;
    (void)&at_end;
    Record(1, 1);
    pthread_setspecific(late_keys[0], reinterpret_cast<void*>(1));
    pthread_setspecific(late_keys[1], reinterpret_cast<void*>(2));
  }).join();
  return crosscut_stop();
}

// churn DIR COUNT: threads that each record twice and end, four at a time; tells how many maps and
// threads there are more in the end than after a tenth of them.
int Churn(char** arguments) {
  if (!Start(arguments[0])) return 1;
  std::atomic<uint64_t> next{0};
  const auto count = static_cast<uint64_t>(atoll(arguments[1]));
  auto make = [&](uint64_t up_to) {
    const long before = StatusOf("Threads:");
    std::vector<std::thread> makers;
    for (int m = 0; m < 4; ++m) {
      makers.emplace_back([&, up_to] {
        for (uint64_t i = ++next; i <= up_to; i = ++next) {
          std::thread([i] {
            Record(0, 2 * i - 1);
            Record(0, 2 * i);
          }).join();
        }
      });
    }
    for (std::thread& maker : makers) maker.join();
    next.store(up_to);
    // The kernel counts a thread for a moment after it was joined.
    for (int ms = 0; StatusOf("Threads:") > before && ms < 10'000; ++ms) usleep(1000);
    return std::pair(CountIn("/proc/self/maps"), StatusOf("Threads:"));
  };
  const auto settled = make(count / 10);
  const auto last = make(count);
  printf("%ld %ld\n", last.first - settled.first, last.second - settled.second);
  return crosscut_stop();
}

// A process that shares nothing but what raw clone() leaves shared; runs no fork handlers.
pid_t RawFork() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

// forks DIR COUNT HOW: eight threads record while the main thread forks; each child records too,
// which must not reach the parent's log. HOW: fork, clone, follow.
int Forks(char** arguments) {
  const std::string how = arguments[2];
  if (!Start(arguments[0])) return 1;
  crosscut_follow_fork(how == "follow");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  uint64_t recorded[9] = {};
  for (uint64_t t = 1; t <= 8; ++t) {
    threads.emplace_back([t, &stop, &recorded] {
      uint64_t number = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        Record(t, ++number);
        if (number % 16 == 0) usleep(200);
      }
      recorded[t] = number;
    });
  }
  const int count = atoi(arguments[1]);
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    Record(0, static_cast<uint64_t>(i) + 1);
    const pid_t child = how == "clone" ? RawFork() : fork();
    if (child == 0) {
      for (uint64_t k = 1; k <= 5; ++k) Record(100, k);
      _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++bad;
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t <= 8; ++t) printf("%d %llu\n", t, static_cast<unsigned long long>(recorded[t]));
  printf("0 %d\n", count);
  const int error = crosscut_stop();
  return bad != 0 ? 2 : error;
}

// cycles DIR COUNT: start, one event, stop; tells what grew in the second half.
int Cycles(char** arguments) {
  const int count = atoi(arguments[1]);
  long maps = 0, memory = 0, threads = 0, fds = 0;
  for (int i = 0; i < count; ++i) {
    if (!Start(arguments[0])) return 1;
    Record(0, static_cast<uint64_t>(i) + 1);
    const int settled = count / 2;
    if (i == settled || i == count - 1) {
      if (crosscut_snapshot() != CROSSCUT_OK) return 3;  // the drain has done all there was
      const int sign = i == settled ? -1 : 1;
      maps += sign * CountIn("/proc/self/maps");
      // Of the ring, which is shared and bounded, a drain that lags behind takes a chunk more.
      memory += sign * StatusOf("RssAnon:");
      threads += sign * StatusOf("Threads:");
      const int fd = dup(0);
      fds += sign * fd;
      close(fd);
    }
    if (crosscut_stop() != CROSSCUT_OK) return 2;
  }
  printf("%ld %ld %ld %ld\n", maps, memory, threads, fds);
  return 0;
}

// descriptors DIR FILE: closes every descriptor, takes the numbers for files of its own.
int Descriptors(char** arguments) {
  if (!Start(arguments[0])) return 1;
  syscall(SYS_close_range, 3, ~0U, 0);
  std::vector<int> fds;
  for (int i = 0; i < 32; ++i) {
    fds.push_back(open((std::string(arguments[1]) + std::to_string(i)).c_str(),
                       O_CREAT | O_RDWR | O_TRUNC, 0600));
    if (write(fds.back(), "mine", 4) != 4) return 3;
  }
  for (uint64_t i = 1; i <= 100'000; ++i) {
    Record(0, i);
    if (i % 1000 == 0) usleep(500);
  }
  return crosscut_stop();
}

// overload DIR THREADS EVENTS: more than the ring holds; spans too, so that stacks are repaired.
int Overload(char** arguments) {
  if (!Start(arguments[0], 2 << 20)) return 1;
  const int threads = atoi(arguments[1]);
  const auto events = static_cast<uint64_t>(atoll(arguments[2]));
  std::vector<std::thread> recorders;
  for (int t = 0; t < threads; ++t) {
    recorders.emplace_back([=] {
      for (uint64_t i = 1; i <= events; ++i) Record(static_cast<uint64_t>(t), i);
    });
  }
  for (std::thread& recorder : recorders) recorder.join();
  return crosscut_stop();
}

// limit DIR BYTES: the log may not grow beyond BYTES.
int Limit(char** arguments) {
  if (!Start(arguments[0])) return 1;
  const rlimit limit = {static_cast<rlim_t>(atoll(arguments[1])), RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  for (uint64_t i = 1; i <= 200'000; ++i) {
    crosscut_flow_out(i * 0x9e3779b97f4a7c15);  // packs badly
    Record(0, i);
    if (i % 2000 == 0) usleep(2000);
  }
  return crosscut_stop();
}

// control DIR: half of the steps are control steps; spans reach over their edges in every way.
int Control(char** arguments) {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = arguments[0];
  options.control_percent = 50;
  options.seed = 3;
  if (crosscut_start(&options) != CROSSCUT_OK) return 1;
  const uint32_t operation =
      crosscut_intern("operation", 9, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, 0, 0);
  for (int step = 0; step < 300; ++step) {
    crosscut_begin(operation);
    crosscut_begin_inline(seq_name);
    crosscut_step(0);
    crosscut_begin_inline(seq_name);
    if (step % 3 != 0) crosscut_step(0);
    crosscut_end_inline();
    crosscut_end_inline();
    if (step % 5 == 0) crosscut_step(0);
    crosscut_end_named(operation);
  }
  return crosscut_stop();
}

// signals DIR: no handler of ours, and blocking calls see no EINTR.
int Signals(char** arguments) {
  char before[64] = {}, after[64] = {};
  auto caught = [](char* to) {
    FILE* file = fopen("/proc/self/status", "r");
    char line[256];
    while (fgets(line, sizeof line, file) != nullptr) {
      if (strncmp(line, "SigCgt:", 7) == 0) snprintf(to, 64, "%.60s", line + 7);
    }
    fclose(file);
  };
  std::thread([] {}).join();  // libc's own handlers come with the first thread
  caught(before);
  if (!Start(arguments[0])) return 1;
  caught(after);
  const int error = crosscut_stop();
  return strcmp(before, after) != 0 ? 2 : error;
}

}  // namespace
}  // namespace crosscut::faults

int main(int count, char** arguments) {
  using namespace crosscut::faults;
  if (count < 3) return 98;
  seq_name = crosscut_intern("seq", 3, CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
  const std::string mode = arguments[1];
  arguments += 2;
  if (mode == "kill") return Kill(arguments);
  if (mode == "end") return End(arguments);
  if (mode == "destructors") return Destructors(arguments);
  if (mode == "churn") return Churn(arguments);
  if (mode == "forks") return Forks(arguments);
  if (mode == "cycles") return Cycles(arguments);
  if (mode == "descriptors") return Descriptors(arguments);
  if (mode == "overload") return Overload(arguments);
  if (mode == "limit") return Limit(arguments);
  if (mode == "control") return Control(arguments);
  if (mode == "signals") return Signals(arguments);
  return MoreModes(mode, arguments);
}
