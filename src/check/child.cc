#include "src/check/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "src/base/capture.h"
#include "src/base/descriptors.h"
#include "src/check/harness/guard.h"
#include "src/check/harness/options.h"
#include "src/check/harness/tensorflow.h"
#include "src/check/harness/tf_status.h"
#include "src/check/harness/xspace_rules.h"

extern char** environ;

namespace crosscut::check {
namespace {

constexpr int kBoardFd = 3;

double DeadlineOf(const Test& test) {
  double seconds = test.seconds + 4 * options().deadline;
  if (test.run == RunFuzz) seconds += options().fuzz_seconds;
  if (test.run == RunSoak) seconds += options().soak_seconds;
  return seconds;
}

std::string BesideUs(const char* name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

void Limit(decltype(RLIMIT_CORE) what, rlim_t value) {
  rlimit limit;
  getrlimit(what, &limit);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(what, &limit);
}

// TensorFlow's libraries where they are asked for, else the stand-in of that name.
Status PrepareTensorFlow() {
  if (options().tensorflow.folder.empty()) {
    dlopen(BesideUs(CROSSCUT_CHECK_TENSORFLOW).c_str(), RTLD_NOW | RTLD_LOCAL);
    return Status();
  }
  Phase("loading TensorFlow at " + options().tensorflow.folder);
  void* library = nullptr;
  Status status = LoadTensorFlow(options().tensorflow, &library);
  if (!status.ok()) return status;
  if (!UseStatusOf(library)) {
    return Status::Unsupported(
        "this TensorFlow lacks functions of the C API for TF_Status: name "
        "the Python of a newer one (--python PATH)");
  }
  // What it said of itself is nothing that the plugin said.
  if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
  Phase("");
  return status;
}

// They lie behind the board.
bool TakeOptions() {
  struct stat facts;
  if (fstat(kBoardFd, &facts) != 0) return false;
  std::string bytes(static_cast<size_t>(facts.st_size) - sizeof(Board), 0);
  const ssize_t n = pread(kBoardFd, bytes.data(), bytes.size(), sizeof(Board));
  return n == static_cast<ssize_t>(bytes.size()) && UnpackOptions(bytes);
}

}  // namespace

Child::Child(const Test& test) : test_(test), deadline_(DeadlineOf(test)) {
  outcome_.id = test.id;
  if (!Start()) outcome_.trouble = std::string("cannot prepare a process: ") + strerror(errno);
}

Child::~Child() {
  KillGroup();
  if (board_ != nullptr) munmap(board_, sizeof(Board));
  for (const int fd : {board_fd_, output_fd_, error_fd_}) {
    if (fd >= 0) close(fd);
  }
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

bool Child::Start() {
  board_fd_ = memfd_create("crosscut-check-board", MFD_CLOEXEC);
  output_fd_ = memfd_create("crosscut-check-stdout", MFD_CLOEXEC);
  error_fd_ = memfd_create("crosscut-check-stderr", MFD_CLOEXEC);
  if (board_fd_ < 0 || output_fd_ < 0 || error_fd_ < 0) return false;
  const char* base = getenv("TMPDIR");
  folder_ = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/crosscut-check-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) {
    folder_.clear();
    return false;
  }
  if (ftruncate(board_fd_, sizeof(Board)) != 0 || lseek(board_fd_, 0, SEEK_END) < 0 ||
      !base::WriteAll(board_fd_, PackOptions())) {
    return false;
  }
  void* board = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, board_fd_, 0);
  if (board == MAP_FAILED) return false;
  board_ = static_cast<Board*>(board);
  began_ns_ = MonotonicNs();
  pid_ = fork();
  if (pid_ == 0) Become();
  if (pid_ > 0) setpgid(pid_, pid_);
  return pid_ > 0;
}

std::vector<std::string> Child::Environment() const {
  std::vector<std::string> out;
  if (!options().probe) {
    out = {"PATH=/usr/bin:/bin", "LANG=C", "HOME=" + folder_, "TMPDIR=" + folder_};
  }
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view one = *at;
    for (const char* kept : {"LD_LIBRARY_PATH=", "CROSSCUT_PLUGIN_", "ASAN_OPTIONS="}) {
      if (options().probe || one.starts_with(kept)) {
        out.emplace_back(one);
        break;
      }
    }
  }
  for (const auto& [name, value] : options().environment) out.push_back(name + "=" + value);
  if (test_.run == RunCorruption) {
    out.push_back("LD_PRELOAD=" + BesideUs(CROSSCUT_CHECK_HEAP));
  }
  return out;
}

void Child::Become() {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, rlim_t{1} << 30);
  Limit(RLIMIT_CPU, static_cast<rlim_t>(deadline_ * 8));
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, 0);
  dup2(output_fd_, 1);
  dup2(error_fd_, 2);
  if (board_fd_ == kBoardFd) fcntl(kBoardFd, F_SETFD, 0);
  dup2(board_fd_, kBoardFd);
  for (int fd = kBoardFd + 1; fd < 1024; ++fd) close(fd);
  const std::vector<std::string> full = {"crosscut-check-plugin", kChild, test_.id};
  std::vector<std::string> environment = Environment();
  if (chdir(folder_.c_str()) == 0) {
    execve("/proc/self/exe", base::Pointers(full).data(), base::Pointers(environment).data());
  }
  dprintf(STDERR_FILENO, "%s\n", strerror(errno));
  _exit(1);
}

void Child::KillGroup() {
  if (pid_ > 0) kill(-pid_, SIGKILL);
}

bool Child::Poll() {
  if (pid_ < 0) return true;
  if (waitpid(pid_, &wait_status_, WNOHANG) == pid_) {
    KillGroup();
    pid_ = -1;
    outcome_.seconds = static_cast<double>(MonotonicNs() - began_ns_) / 1e9;
    JudgeEnding();
    return true;
  }
  const int64_t now = MonotonicNs();
  for (const Slot& slot : board_->slots) {
    const auto call = static_cast<Call>(slot.call.load());
    if (call == Call::kNone || hung_ != Call::kNone) continue;
    const auto age = static_cast<double>(now - slot.began_ns.load()) / 1e9;
    if (age > options().deadline && slot.call.load() == static_cast<uint32_t>(call)) hung_ = call;
  }
  timed_out_ = static_cast<double>(now - began_ns_) / 1e9 > deadline_;
  if (hung_ != Call::kNone || timed_out_) KillGroup();
  return false;
}

void Child::Add(Severity severity, const std::string& rule, const std::string& text) {
  Finding finding = {severity, {}, {}};
  snprintf(finding.rule, sizeof finding.rule, "%s", rule.c_str());
  snprintf(finding.text, sizeof finding.text, "%s", text.c_str());
  outcome_.findings.push_back(finding);
}

std::string Child::Talk() const {
  char text[400];
  const off_t size = lseek(error_fd_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(sizeof text));
  const ssize_t n = pread(error_fd_, text, sizeof text, from);
  std::string out(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  const size_t line = out.rfind('\n');
  return line == std::string::npos ? out : out.substr(line + 1);
}

// The first sessions' endings belong to the tests that are about them.
void Child::JudgeEnding() {
  const uint32_t count = std::min(board_->count.load(), Board::kFindings);
  outcome_.findings.assign(board_->findings, board_->findings + count);
  outcome_.skip = board_->skip;
  outcome_.note = board_->note;
  if (board_->ready.load() == 0 && count == 0) {
    outcome_.trouble = "the checker cannot start itself again";
    if (!outcome_.skip.empty()) outcome_.trouble = outcome_.skip;
    if (!Talk().empty()) outcome_.trouble += ": " + Talk();
    return;
  }
  outcome_.fatal = board_->fatal.load() != 0;
  const bool trial = test_.run == RunTrial || test_.run == RunRegistration;
  const std::string id = test_.id;
  Ending ending = {wait_status_, static_cast<Call>(board_->crashed_call.load())};
  for (const Slot& slot : board_->slots) {
    if (ending.call == Call::kNone) ending.call = static_cast<Call>(slot.call.load());
  }
  const std::string phase =
      board_->phase[0] != 0 ? std::string(", while: ") + board_->phase : std::string();
  const std::string words = Talk().empty() ? "" : "; it said: " + Talk();
  if (hung_ != Call::kNone) {
    Add(Severity::kFail, trial ? "C11.hang" : id + ".hang",
        std::string(NameOf(hung_)) + " did not return within " +
            std::to_string(options().deadline).substr(0, 4) + " s" + phase +
            ": no call may wait for work, for another thread of the program or for a lock that "
            "one may hold");
  } else if (timed_out_) {
    Add(Severity::kWarn, id + ".time", "the test did not come to its end in time" + phase);
  } else if (wait_status_ != 0 || board_->done.load() == 0) {
    const bool crashed = ending.crashed();
    // What heap.c says before it ends the process.
    const bool heap = crashed && Talk().starts_with("heap: ");
    const std::string own = id + (heap ? ".heap" : crashed ? ".crash" : ".exit");
    Add(Severity::kFail,
        !trial    ? own
        : crashed ? "C13.crash"
                  : "C16.exit",
        "the plugin " + ending.Words() + phase + words);
  } else {
    return;
  }
  outcome_.fatal = outcome_.fatal || trial;
}

Outcome Child::Take() { return std::move(outcome_); }

void RunAsChild(const std::string& id) {
  const Test* test = FindTest(id);
  if (test == nullptr || !MapBoard(kBoardFd) || !TakeOptions()) _exit(1);
  close(kBoardFd);
  WatchCrashes();
  std::string why;
  if (const Status status = PrepareTensorFlow(); !status.ok()) {
    FailFatally("C1.tensorflow", std::string(status.message()));
  } else if (!OpenWorkLibrary(&why)) {
    Skip(why);
  } else {
    board().ready.store(1);
    test->run();
  }
  board().done.store(1);
  _exit(0);
}

}  // namespace crosscut::check
