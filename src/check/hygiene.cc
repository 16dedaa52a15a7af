// C15: what of the process a plugin changes and does not change back.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/check/harness/options.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

extern char** environ;

namespace crosscut::check {
namespace {

constexpr int kSignals = 65;

std::set<std::string> NamesIn(const char* folder) {
  const auto names = base::NamesIn(folder);
  return names.ok() ? std::set(names->begin(), names->end()) : std::set<std::string>();
}

// The first name that is new.
std::string NewName(const std::set<std::string>& before, const std::set<std::string>& now) {
  for (const std::string& name : now) {
    if (!before.contains(name)) return name;
  }
  return "";
}

// /dev/shm belongs to the whole machine: of the new names those that are this process's, because
// they hold its number or because it has them mapped.
std::set<std::string> OwnShared() {
  const auto maps = base::ReadSmallFile("/proc/self/maps", 1 << 22);
  const std::string pid = std::to_string(getpid());
  std::set<std::string> own;
  for (const std::string& name : NamesIn("/dev/shm")) {
    const bool mapped = maps.ok() && maps->find("/dev/shm/" + name) != std::string::npos;
    if (mapped || name.find(pid) != std::string::npos) own.insert(name);
  }
  return own;
}

std::string Environment() {
  std::string all;
  for (char** at = environ; *at != nullptr; ++at) {
    // What the checker itself changes.
    if (strncmp(*at, "CROSSCUT_PLUGIN_MOCK_WORK=", 26) != 0) all += std::string(*at) + "\n";
  }
  return all;
}

struct State {
  std::vector<void*> handlers;
  std::string mask, locale, environment, folder;
  int rounding = 0;
  uint64_t float_control = 0;
  mode_t umask_bits = 0;
  bool timers = false;
  std::set<std::string> shared_memory, temporary;
  off_t written = 0;
  bool children = false;
};

// What rules this thread's arithmetic (flush to zero, traps), without the sticky flags.
uint64_t FloatControl() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return 0;
#endif
}

State Look() {
  State s;
  for (int signal = 1; signal < kSignals; ++signal) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    s.handlers.push_back(reinterpret_cast<void*>(action.sa_handler));
  }
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  for (int signal = 1; signal < kSignals; ++signal) {
    s.mask += sigismember(&mask, signal) == 1 ? '1' : '0';
  }
  s.locale = setlocale(LC_ALL, nullptr);
  s.environment = Environment();
  char folder[PATH_MAX];
  s.folder = getcwd(folder, sizeof folder) != nullptr ? folder : "";
  s.rounding = fegetround();
  s.float_control = FloatControl();
  s.umask_bits = umask(0);
  umask(s.umask_bits);
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer = {};
    getitimer(which, &timer);
    s.timers = s.timers || timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
  }
  s.shared_memory = OwnShared();
  const char* temporary = getenv("TMPDIR");
  s.temporary = NamesIn(temporary != nullptr ? temporary : "/tmp");
  fflush(nullptr);
  struct stat out = {}, error = {};
  fstat(1, &out);
  fstat(2, &error);
  s.written = out.st_size + error.st_size;
  s.children = waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
  return s;
}

void CompareSignals(const State& before, const State& now, const std::string& when) {
  for (size_t i = 0; i < before.handlers.size(); ++i) {
    if (before.handlers[i] == now.handlers[i]) continue;
    const int signal = static_cast<int>(i) + 1;
    Fail("C15.signals", "the handler of signal " + std::to_string(signal) + " (" +
                            strsignal(signal) + ") is another one after " + when +
                            ": put back what was there, or use no signals");
    return;
  }
  if (before.mask != now.mask) {
    Fail("C15.mask", "the caller's signal mask is changed after " + when +
                         ": block signals in "
                         "threads of your own only");
  }
  if (!before.timers && now.timers) {
    Fail("C15.timers", "an interval timer runs after " + when +
                           ": its signals interrupt the "
                           "program's system calls");
  }
}

void CompareFiles(const State& before, const State& now, const std::string& when) {
  const std::string shm = NewName(before.shared_memory, now.shared_memory);
  const std::string temp = NewName(before.temporary, now.temporary);
  if (!shm.empty()) {
    Fail("C15.shm", "/dev/shm/" + shm + " is left after " + when +
                        ": unlink it as soon as it is "
                        "mapped, or use memfd_create");
  }
  if (!temp.empty()) {
    Fail("C15.files", "the file " + temp + " is left in the folder for temporary files after " +
                          when + ": delete it in stop");
  }
  if (now.written != before.written) {
    Fail("C15.output", when +
                           " writes to stdout or stderr: the program's output must not change; "
                           "tell what there is to say by crosscut_host.tell()");
  }
  if (before.folder != now.folder) {
    Fail("C15.folder", "the current folder is another one after " + when + ": use absolute paths");
  }
}

void CompareRest(const State& before, const State& now, const std::string& when) {
  if (before.locale != now.locale) {
    Fail("C15.locale", "the locale is changed after " + when +
                           ": numbers are printed and read "
                           "otherwise; use newlocale() and the _l functions");
  }
  if (before.rounding != now.rounding || before.float_control != now.float_control) {
    Fail("C15.rounding", "the floating-point mode is changed after " + when +
                             ": the program's "
                             "results change; put it back before you return");
  }
  if (before.environment != now.environment) {
    Fail("C15.environment", "the environment is changed after " + when +
                                ": setenv() is not safe "
                                "where other threads read it, and children inherit it");
  }
  if (before.umask_bits != now.umask_bits) {
    Fail("C15.umask", "the umask is changed after " + when + ": give modes to open() instead");
  }
  if (!before.children && now.children) {
    Fail("C15.processes", "a child process is left after " + when +
                              ": the program's wait() would "
                              "find it; wait for it yourself, or use a thread");
  }
}

void Compare(const State& before, const std::string& when) {
  const State now = Look();
  CompareSignals(before, now, when);
  CompareFiles(before, now, when);
  CompareRest(before, now, when);
}

}  // namespace

void RunHygiene() {
  for (const bool with : {false, true}) {
    ReportEnding(InFork([with] {
                   SetMockWork(0);
                   State before = Look();
                   std::string why;
                   Plugin::Open(options().plugin, RTLD_NOW | RTLD_LOCAL, &why);
                   before.written = Look().written;  // what loading says is C1's to judge
                   const auto plugin = Plugin::Make(with);
                   if (plugin == nullptr) return;
                   Compare(before, "TF_InitProfiler");
                   for (int i = 0; i < 3; ++i) {
                     RunSession(plugin.get(), {kSomeWork, Collect::kFull, 1'000'000});
                     Compare(before, "a session");
                   }
                 }),
                 "C15");
  }
}

}  // namespace crosscut::check
