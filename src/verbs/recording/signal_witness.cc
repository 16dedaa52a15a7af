#include "src/verbs/recording/signal_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/descriptors.h"
#include "src/base/file.h"
#include "src/base/time.h"

namespace crosscut::verbs {
namespace {

constexpr int64_t kTogetherNs = 100'000'000;  // who signals many processes is done by then
constexpr int64_t kStarvedNs = 2'000'000'000;
constexpr int64_t kForgetNs = 3'000'000'000;
constexpr size_t kMaxStatusBytes = 64 << 10;

// Who sends signals by name or command line, as pkill does, means the caller alone.
void TakeAnotherName() {
  constexpr char kName[] = "signal-witness";
  prctl(PR_SET_NAME, kName);
  const auto stat = base::ReadSmallFile("/proc/self/stat", kMaxStatusBytes);
  if (!stat.ok()) return;
  size_t at = std::min(stat->rfind(')'), stat->size());
  constexpr int kArgumentsBegin = 48, kNameEnds = 2;  // fields of proc(5)
  for (int field = kNameEnds; field < kArgumentsBegin && at < stat->size(); ++field) {
    at = stat->find(' ', at + 1);
  }
  if (at >= stat->size()) return;
  char* rest = nullptr;
  const uint64_t begin = strtoull(stat->c_str() + at, &rest, 10), end = strtoull(rest, nullptr, 10);
  if (begin == 0 || end <= begin) return;
  auto* arguments = reinterpret_cast<char*>(begin);
  memset(arguments, 0, end - begin);
  memcpy(arguments, kName, std::min(sizeof kName - 1, static_cast<size_t>(end - begin - 1)));
}

}  // namespace

bool IsPending(pid_t process, int signal) {
  const auto text =
      base::ReadSmallFile("/proc/" + std::to_string(process) + "/status", kMaxStatusBytes);
  const size_t at = text.ok() ? text->find("ShdPnd:") : std::string::npos;
  return at != std::string::npos &&
         (strtoull(text->c_str() + at + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
}

void SignalWitness::Watch(int reports, pid_t caller) {
  TakeAnotherName();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != caller) _exit(0);
  base::CloseAllBut(reports);
  sigset_t all;
  sigfillset(&all);
  for (;;) {
    siginfo_t info;
    if (sigwaitinfo(&all, &info) <= 0 || info.si_code > 0) continue;
    const Report report = {info.si_signo, info.si_pid, base::MonotonicNs()};
    const ssize_t told = write(reports, &report, sizeof report);
    (void)told;
  }
}

void SignalWitness::Begin() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t caller = getpid();
  witness_ = fork();
  if (witness_ == 0) Watch(ends[1], caller);
  close(ends[1]);
  reports_ = ends[0];
}

void SignalWitness::Renew() {
  if (witness_ <= 0 || waitpid(witness_, nullptr, WNOHANG) != witness_) return;
  ReadReports();
  close(std::exchange(reports_, -1));
  witness_ = -1;
  Begin();
}

SignalWitness::~SignalWitness() {
  if (witness_ > 0) {
    kill(witness_, SIGKILL);
    while (waitpid(witness_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (reports_ >= 0) close(reports_);
}

void SignalWitness::ReadReports() {
  const int64_t now = base::MonotonicNs();
  std::erase_if(seen_, [&](const Report& one) { return now - one.taken_ns > kForgetNs; });
  Report report;
  while (read(reports_, &report, sizeof report) == ssize_t{sizeof report}) seen_.push_back(report);
}

SignalWitness::Verdict SignalWitness::Of(const siginfo_t& info, int64_t taken_ns) {
  if (witness_ <= 0) return Verdict::kHasNot;
  ReadReports();
  const auto find = [&](auto fits) {
    return std::find_if(seen_.begin(), seen_.end(), [&](const Report& report) {
      return report.signal == info.si_signo && report.sender == info.si_pid && fits(report);
    });
  };
  const auto own = find([](const Report& report) { return !report.used; });
  if (own != seen_.end()) {
    own->used = true;
    return Verdict::kHasIt;
  }
  const int64_t waited = base::MonotonicNs() - taken_ns;
  if (waited < kTogetherNs) return Verdict::kNotYet;
  if (IsPending(witness_, info.si_signo)) {
    return waited < kStarvedNs ? Verdict::kNotYet : Verdict::kHasIt;
  }
  // Two that wait for a witness without a processor become one: it took that when both were there.
  const bool covered =
      find([&](const Report& report) { return report.taken_ns >= taken_ns; }) != seen_.end();
  return covered ? Verdict::kHasIt : Verdict::kHasNot;
}

}  // namespace crosscut::verbs
