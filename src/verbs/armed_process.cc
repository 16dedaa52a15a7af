#include "src/verbs/armed_process.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/lists.h"
#include "src/base/nearest.h"
#include "src/base/process.h"
#include "src/verbs/recording/program_name.h"

namespace crosscut::verbs {
namespace {

using format::RingLoad;

constexpr size_t kMaxMapsBytes = 64 << 20;
constexpr int kMoments = 10;

}  // namespace

Result<std::unique_ptr<ArmedProcess>> ArmedProcess::Open(const format::RunRing& ring) {
  Result<format::RingMapping> mapping = format::RingMapping::Open(ring.path, ring.trust);
  if (!mapping.ok()) return mapping.status();
  std::unique_ptr<ArmedProcess> it(new ArmedProcess(std::move(*mapping)));
  const std::string name = ProcessTitle(it->pid());
  if (!it->alive()) return Status::NotFound(name + " has ended");
  if (RingLoad(it->header()->control.armed) == 0) {
    return Status::Invalid(name +
                           " records, but takes no requests: it was not started by `crosscut "
                           "record --dormant` and has not called crosscut.arm()");
  }
  if (flock(it->ring_.file().fd(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Limit("another crosscut command is at work on " + name);
  }
  return it;
}

std::string ArmedProcess::key() const {
  std::string name(header()->log_name, strnlen(header()->log_name, format::kRingLogNameBytes));
  return name.substr(0, name.rfind(".crosscut"));
}

std::string ArmedProcess::run_dir() const {
  const auto& text = header()->control.run_dir;
  return {text, strnlen(text, sizeof text)};
}

bool ArmedProcess::alive() const { return ring_.file().Owner(*header()) != base::Liveness::kDead; }

bool ArmedProcess::recording() const {
  const uint32_t state = RingLoad(header()->state);
  return state == format::kRingRecording || state == format::kRingPaused;
}

std::string ArmedProcess::failure() const {
  if (RingLoad(header()->failed_at_byte) == 0) return "";
  const auto number = static_cast<int>(RingLoad(header()->failed_errno));
  return "its log could not be written" + (number == 0 ? "" : std::string(": ") + strerror(number));
}

bool ArmedProcess::counts_steps() const { return RingLoad(header()->control.counts_steps) != 0; }

uint64_t ArmedProcess::steps() const { return format::StepsBegun(header()); }

uint64_t ArmedProcess::window_begun() const { return RingLoad(header()->control.window_begun); }
uint64_t ArmedProcess::window_ended() const { return RingLoad(header()->control.window_ended); }
uint64_t ArmedProcess::first_step() const { return RingLoad(header()->control.first_step); }
uint64_t ArmedProcess::end_step() const { return RingLoad(header()->control.end_step); }

bool ArmedProcess::HasWaiting() const {
  const auto waits = [&] {
    const uint32_t word = format::RequestWord(*header());
    return format::RequestOf(word) != format::kRequestNone &&
           RingLoad(header()->answered) != (word & ~format::kRequestTaken);
  };
  for (int i = 0; i < kMoments && waits(); ++i) {
    // Who wrote it may have woken nobody.
    syscall(SYS_futex, &header()->request, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    const timespec moment = {0, 10'000'000};
    nanosleep(&moment, nullptr);
  }
  return waits();
}

void ArmedProcess::Ask(const Request& request) {
  asked_ = format::Ask(header(), request);
  syscall(SYS_futex, &header()->request, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool ArmedProcess::Answered() const { return asked_ != 0 && format::IsAnswered(*header(), asked_); }
uint32_t ArmedProcess::answer() const { return RingLoad(header()->answer); }

std::string ArmedProcess::words() const {
  const auto& text = header()->control.words;
  return {text, strnlen(text, sizeof text)};
}

bool ArmedProcess::Withdraw() { return format::WithdrawRequest(header()); }

void ArmedProcess::AwaitAnswer(int ms) const {
  const uint32_t answered = RingLoad(header()->answered);
  if (answered == asked_) return;
  const timespec timeout = {ms / 1000, ms % 1000 * 1'000'000L};
  syscall(SYS_futex, &header()->answered, FUTEX_WAIT, answered, &timeout, nullptr, 0);
}

// ---- Finding rings ------------------------------------------------------------------------------

Result<std::vector<format::RunRing>> RingsOfRun(const std::string& run_dir) {
  const Result<format::RunFolder> run = format::RunFolder::Of(run_dir);
  if (!run.ok()) {
    return Status::NotFound(run_dir + " is neither a process id nor a run directory" +
                            base::DidYouMeanFile(run_dir));
  }
  if (run->run_json.empty()) return Status::NotFound(run_dir + " is not a run: it has no run.json");
  return format::FindRings(*run).rings;
}

namespace {

// What the kernel says of a process, in /proc/<pid>/status.
struct ProcessFacts {
  int64_t uid = -1;       // effective
  int64_t inner_pid = 0;  // in the process's own pid namespace
};

ProcessFacts FactsOf(const std::string& folder) {
  ProcessFacts facts;
  const Result<std::string> status = base::ReadSmallFile(folder + "/status", 1 << 16);
  if (!status.ok()) return facts;
  long long real = 0, effective = 0;
  if (const size_t at = status->find("\nUid:"); at != std::string::npos) {
    if (sscanf(status->c_str() + at, " Uid: %lld %lld", &real, &effective) == 2) {
      facts.uid = effective;
    }
  }
  if (const size_t at = status->find("\nNSpid:"); at != std::string::npos) {
    const size_t last = status->find_last_of("\t ", status->find('\n', at + 1));
    facts.inner_pid = strtoll(status->c_str() + last, nullptr, 10);
  }
  return facts;
}

// The first ring among the names of a process's mappings; "" where there is none.
std::string MappedRing(const std::string& maps) {
  for (const std::string_view line : base::Split(maps, '\n')) {
    const size_t slash = line.find('/');
    if (slash == std::string_view::npos || !line.ends_with(".ring")) continue;
    const std::string_view path = line.substr(slash);
    if (path.substr(path.rfind('/') + 1).starts_with("crosscut-")) return std::string(path);
  }
  return "";
}

}  // namespace

Result<format::RunRing> RingOfProcess(int64_t pid) {
  const std::string name = ProcessTitle(pid);
  if (pid <= 0 || (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)) {
    return Status::NotFound("there is no " + name);
  }
  const std::string folder = "/proc/" + std::to_string(pid);
  struct stat owner;
  if (stat(folder.c_str(), &owner) != 0) return Status::NotFound("there is no " + name);
  if (geteuid() != 0 && owner.st_uid != geteuid()) {
    return Status::Invalid(name + " belongs to another user");
  }
  const Result<std::string> maps = base::ReadSmallFile(folder + "/maps", kMaxMapsBytes);
  if (!maps.ok()) return Status::Invalid(name + ": " + std::string(maps.status().message()));
  format::RunRing ring;
  ring.path = MappedRing(*maps);
  if (ring.path.empty()) {
    return Status::Invalid(name +
                           " is not ready for this: start it with `crosscut record --dormant`, or "
                           "let it call crosscut.arm()");
  }
  // The names of mappings are the process's to choose: in a mount namespace of its own a ring of
  // anybody's stands at any path.
  const ProcessFacts facts = FactsOf(folder);
  ring.trust.owner = facts.uid;
  const auto file = format::RingFile::Open(ring.path, ring.trust, /*writable=*/false);
  if (!file.ok()) return file.status();
  uint64_t chunks = 0;
  if (const Status read = file->ReadHeader(&ring.header, &chunks); !read.ok()) return read;
  if (ring.header.pid != facts.inner_pid) {
    return Status::Invalid(name + " has mapped the ring of another process, " + ring.path);
  }
  return ring;
}

}  // namespace crosscut::verbs
