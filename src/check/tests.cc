#include "src/check/tests.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

#include "src/check/harness/options.h"

namespace crosscut::check {
namespace {

constexpr Test kTests[] = {
    {"C1", 1, "loads fast, quietly and without threads", RunLoad, 30, true, ""},
    {"C2", 1, "keeps to the ABI", RunAbi, 30, false, ""},
    {"C3", 2, "no device, no output", RunNoDevice, 60, false, ""},
    {"C4", 2, "no work on the device, no output", RunNoWork, 60, false, ""},
    {"C5", 3, "sessions repeat", RunRestart, 120, false, ""},
    {"C6", 3, "calls out of order do no harm", RunMisuse, 60, false, ""},
    {"C7", 4, "collect keeps to its buffer", RunCollect, 60, false, ""},
    {"C8", 4, "output is valid", RunValidity, 60, false, ""},
    {"C9", 5, "nothing leaks", RunLeaks, 120, false, ""},
    {"C10", 5, "memory is bounded", RunMemoryLimit, 120, false, ""},
    {"C11", 5, "nothing blocks", RunDeadlocks, 60, true, ""},
    {"C12", 6, "costs nothing one notices", RunOverhead, 300, true, ""},
    {"C13", 6, "memory stays intact", RunCorruption, 60, false, ""},
    {"C14", 7, "calls from any thread", RunRaces, 60, false, "C6 C7 C11 C17"},
    {"C15", 7, "the process stays as it was", RunHygiene, 60, false, ""},
    {"C16", 8, "the process ends as it should", RunEndings, 60, false, ""},
    {"C17", 8, "no exception gets out", RunExceptions, 60, false, ""},
    {"C18", 9, "random calls do no harm", RunFuzz, 120, false, "C6 C7 C11 C17"},
    {"C19", 10, "stays flat for hours", RunSoak, 120, false, "C5 C9"},
};
constexpr Test kTrials[] = {{"trial", 2, "first sessions", RunTrial, 60, false, ""},
                            {"registration", 2, "registration", RunRegistration, 20, false, ""}};

Call TakeCallInFlight() {
  Call call = Call::kNone;
  for (Slot& slot : board().slots) {
    const auto in_flight = static_cast<Call>(slot.call.exchange(0));
    if (in_flight != Call::kNone && call == Call::kNone) call = in_flight;
  }
  return call;
}

}  // namespace

std::span<const Test> Tests() { return kTests; }

const Test* FindTest(const std::string& id) {
  for (const std::span<const Test> tests : {Tests(), std::span<const Test>(kTrials)}) {
    for (const Test& test : tests) {
      if (id == test.id) return &test;
    }
  }
  return nullptr;
}

bool Ending::crashed() const { return WIFSIGNALED(wait_status); }

std::string Ending::Words() const {
  const std::string where =
      call == Call::kNone ? std::string(" outside any call") : std::string(" in ") + NameOf(call);
  if (crashed()) {
    const int signal = WTERMSIG(wait_status);
    return "crashed (signal " + std::to_string(signal) + ", " + strsignal(signal) + ")" + where;
  }
  return "ended the process (exit status " + std::to_string(WEXITSTATUS(wait_status)) + ")" + where;
}

Ending WaitFor(int pid) {
  Ending ending;
  while (waitpid(pid, &ending.wait_status, 0) < 0 && errno == EINTR) {
  }
  ending.call = TakeCallInFlight();
  return ending;
}

Ending InFork(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  if (pid < 0) {
    Skip("cannot fork");
    return {};
  }
  return WaitFor(pid);
}

void ReportEnding(const Ending& ending, const std::string& id) {
  if (ending.normal()) return;
  const std::string phase = board().phase[0] != 0 ? std::string(" (") + board().phase + ")" : "";
  if (ending.crashed()) {
    Fail(id + ".crash", "the plugin " + ending.Words() + phase +
                            ": run the plugin under a debugger or AddressSanitizer");
  } else {
    Fail(id + ".exit", "the plugin " + ending.Words() + phase +
                           ": a plugin must never end the process; set the status");
  }
}

void WithAndWithoutPushTable(const std::string& id,
                             const std::function<void(Plugin*, bool with)>& body) {
  for (const bool with : {false, true}) {
    ReportEnding(InFork([&] {
                   const auto plugin = Plugin::Make(with);
                   if (plugin != nullptr) body(plugin.get(), with);
                 }),
                 id);
  }
}

bool WorkShows(Plugin* plugin) {
  const bool idle = RunSession(plugin, {0, Collect::kFull, 1'000'000}).output();
  return RunSession(plugin, {kSomeWork, Collect::kFull, 0}).output() && !idle;
}

int64_t EndOfBudget() { return MonotonicNs() + static_cast<int64_t>(options().budget * 1e9); }

bool HasOutput(Plugin* plugin) {
  const Session session = RunSession(plugin, {kSomeWork, Collect::kFull, 1'000'000});
  if (session.output()) return true;
  Skip(
      "the plugin gave no output here: name a library that makes its device work (--work), or "
      "give it a mock device (option mock_work)");
  return false;
}

}  // namespace crosscut::check
