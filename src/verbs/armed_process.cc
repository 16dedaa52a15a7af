#include "src/verbs/armed_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "src/base/file.h"
#include "src/base/process.h"
#include "src/format/run_reader.h"

namespace crosscut::verbs {
namespace {

using format::RingLoad;
using format::RingStore;

constexpr size_t kMaxMapsBytes = 64 << 20;
constexpr int kMoments = 10;

std::string NameOf(int64_t pid) { return "process " + std::to_string(pid); }

base::ProcessIdentity OwnerOf(const format::RingHeader& header) {
  return {header.pid, header.pid_start, header.pid_namespace, header.boot};
}

}  // namespace

Result<std::unique_ptr<ArmedProcess>> ArmedProcess::Open(const std::string& ring_path) {
  const int fd = open(ring_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return Status::NotFound(ring_path + ": " + strerror(errno));
  Result<format::RingMapping> ring = format::RingMapping::Open(ring_path, /*writable=*/true);
  if (!ring.ok()) {
    close(fd);
    return ring.status();
  }
  std::unique_ptr<ArmedProcess> it(new ArmedProcess(fd, std::move(*ring)));
  const std::string name = NameOf(it->pid());
  if (!it->alive()) return Status::NotFound(name + " has ended");
  if (RingLoad(it->header()->control.armed) == 0) {
    return Status::Invalid(name +
                           " records, but takes no requests: it was not started by `crosscut "
                           "record --dormant` and has not called crosscut.arm()");
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Status::Limit("another crosscut command is at work on " + name);
  }
  return it;
}

ArmedProcess::~ArmedProcess() { close(fd_); }

std::string ArmedProcess::key() const {
  std::string name(header()->log_name, strnlen(header()->log_name, format::kRingLogNameBytes));
  return name.substr(0, name.rfind(".crosscut"));
}

std::string ArmedProcess::run_dir() const {
  const auto& text = header()->control.run_dir;
  return {text, strnlen(text, sizeof text)};
}

bool ArmedProcess::alive() const {
  return base::LookUp(OwnerOf(*header())) != base::Liveness::kDead;
}

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

// Behind the request, where the process writes its steps before it reads the request.
uint64_t ArmedProcess::steps() const {
  return std::atomic_ref(header()->control.steps).load(std::memory_order_seq_cst);
}

uint64_t ArmedProcess::window_begun() const { return RingLoad(header()->control.window_begun); }
uint64_t ArmedProcess::window_ended() const { return RingLoad(header()->control.window_ended); }
uint64_t ArmedProcess::first_step() const { return RingLoad(header()->control.first_step); }
uint64_t ArmedProcess::end_step() const { return RingLoad(header()->control.end_step); }

uint32_t ArmedProcess::Word() const { return std::atomic_ref(header()->request).load(); }

bool ArmedProcess::HasWaiting() const {
  const auto waits = [&] {
    const uint32_t word = Word();
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
  format::RingControl& control = header()->control;
  RingStore(control.at_step, request.at_step);
  RingStore(control.step_count, request.step_count);
  RingStore(control.limit_ns, request.limit_ns);
  RingStore(control.window, request.window);
  asked_ = ((Word() >> 8) + 1) << 8 | request.kind;
  std::atomic_ref(header()->request).store(asked_, std::memory_order_seq_cst);
  syscall(SYS_futex, &header()->request, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool ArmedProcess::Answered() const {
  return asked_ != 0 && RingLoad(header()->answered) == asked_;
}
uint32_t ArmedProcess::answer() const { return RingLoad(header()->answer); }

std::string ArmedProcess::words() const {
  const auto& text = header()->control.words;
  return {text, strnlen(text, sizeof text)};
}

bool ArmedProcess::Withdraw() {
  uint32_t word = Word();
  if ((word & format::kRequestTaken) != 0) return false;
  const uint32_t none = (word & ~uint32_t{0xff}) | format::kRequestNone;
  return std::atomic_ref(header()->request).compare_exchange_strong(word, none);
}

void ArmedProcess::AwaitAnswer(int ms) const {
  const uint32_t answered = RingLoad(header()->answered);
  if (answered == asked_) return;
  const timespec timeout = {ms / 1000, ms % 1000 * 1'000'000L};
  syscall(SYS_futex, &header()->answered, FUTEX_WAIT, answered, &timeout, nullptr, 0);
}

// ---- Finding rings ------------------------------------------------------------------------------

Result<std::vector<std::string>> RingsOfRun(const std::string& run_dir) {
  struct stat run;
  if (stat(run_dir.c_str(), &run) != 0 || !S_ISDIR(run.st_mode)) {
    return Status::NotFound(run_dir + " is neither a process id nor a run directory");
  }
  std::vector<std::string> folders = {"/dev/shm", run_dir};
  const Result<std::string> json = base::ReadSmallFile(run_dir + "/run.json", 1 << 20);
  if (!json.ok()) return Status::NotFound(run_dir + " is no run: it has no run.json");
  const std::string elsewhere = format::JsonStringMember(*json, "ring_dir");
  if (!elsewhere.empty()) folders.push_back(elsewhere);
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const std::string& path : format::FindRings(folder)) {
      const auto ring = format::RingSnapshot::ReadHeader(path);
      if (ring.ok() && ring->header.run_device == run.st_dev &&
          ring->header.run_inode == run.st_ino) {
        found.push_back(path);
      }
    }
  }
  return found;
}

Result<std::string> RingOfProcess(int64_t pid) {
  const std::string name = NameOf(pid);
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
  for (size_t at = 0; at < maps->size();) {
    const size_t end = std::min(maps->find('\n', at), maps->size());
    const std::string_view line(maps->data() + at, end - at);
    at = end + 1;
    const size_t slash = line.find('/');
    if (slash == std::string_view::npos || !line.ends_with(".ring")) continue;
    const std::string_view path = line.substr(slash);
    if (path.substr(path.rfind('/') + 1).starts_with("crosscut-")) return std::string(path);
  }
  return Status::Invalid(name +
                         " is not ready for this: start it by `crosscut record --dormant`, or let "
                         "it call crosscut.arm()");
}

}  // namespace crosscut::verbs
