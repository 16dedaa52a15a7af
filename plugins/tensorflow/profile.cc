#include "profile.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "recorder.h"

extern char** environ;

namespace crosscut::tensorflow {
namespace {

constexpr int kExportSeconds = 60;
constexpr int64_t kMostBytes = int64_t{1} << 30;  // well below protobuf's limit

std::string TemporaryFolder(const char* base) {
  std::string name = std::string(base) + "/crosscut-tensorflow-XXXXXX";
  return mkdtemp(name.data()) == nullptr ? "" : name;
}

std::string TemporaryFolder() {
  const char* base = getenv("TMPDIR");
  return TemporaryFolder(base != nullptr && *base == '/' ? base : "/tmp");
}

// Says where the session's ring shall lie: it outlives the session, so it must go with our folders.
bool PlaceRing(const std::string& run, const std::string& folder) {
  if (folder.empty()) return true;
  const std::string text = "{\"format\": 1, \"ring_dir\": \"" + folder + "\"}\n";
  if (mkdir(run.c_str(), 0700) != 0) return false;
  const int fd = open((run + "/run.json").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

int RemoveOne(const char* path, const struct stat*, int, struct FTW*) { return remove(path); }

void RemoveFolder(std::string* folder) {
  if (!folder->empty()) nftw(folder->c_str(), RemoveOne, 8, FTW_DEPTH | FTW_PHYS);
  folder->clear();
}

int64_t BytesIn(const std::string& folder) {
  static int64_t bytes;
  bytes = 0;
  nftw(
      folder.c_str(),
      [](const char*, const struct stat* about, int, struct FTW*) {
        bytes += about->st_size;
        return 0;
      },
      4, FTW_PHYS);
  return bytes;
}

// Waits, half a second at most, until nothing is written there any more: a log that goes while it
// is being written is a failure that the recorder tells on stderr.
void AwaitQuiet(const std::string& folder) {
  int64_t before = -1;
  for (int i = 0, quiet = 0; i < 50 && quiet < 3; ++i) {
    const int64_t now = BytesIn(folder);
    quiet = now == before ? quiet + 1 : 0;
    before = now;
    const timespec pause = {0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
}

// The environment without what makes children of recorded programs record.
std::vector<char*> PlainEnvironment() {
  std::vector<char*> plain;
  for (char** at = environ; *at != nullptr; ++at) {
    if (strncmp(*at, "CROSSCUT_", 9) != 0 && strncmp(*at, "LD_PRELOAD=", 11) != 0) {
      plain.push_back(*at);
    }
  }
  plain.push_back(nullptr);
  return plain;
}

// Whether the child ended in time, and well. Other threads of the program may wait for children of
// theirs: only this one is waited for.
bool EndsWell(pid_t child) {
  for (int i = 0; i < kExportSeconds * 200; ++i) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) != 2;
    if (ended < 0) return true;  // the program reaped it: the file tells
    const timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return false;
}

// Runs `crosscut export`, silently. 3 (incomplete input) is good enough: the file says so.
bool Export(const std::string& program, const std::string& run, const std::string& file) {
  const char* arguments[] = {program.c_str(), "export", run.c_str(), "--to=xspace-beside", "-o",
                             file.c_str(),    nullptr};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  for (int fd = 0; fd < 3; ++fd) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr,
                                const_cast<char* const*>(arguments), PlainEnvironment().data());
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 && EndsWell(child);
}

std::string Read(const std::string& path) {
  std::string bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about = {};
  if (fd < 0) return bytes;
  if (fstat(fd, &about) == 0 && about.st_size > 0 && about.st_size <= kMostBytes) {
    bytes.resize(static_cast<size_t>(about.st_size));
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = read(fd, bytes.data() + done, bytes.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    if (done < bytes.size()) bytes.clear();  // no half message
  }
  close(fd);
  return bytes;
}

}  // namespace

void Window::ForgetParents() {
  const int now = getpid();
  if (std::exchange(process_, now) == now) return;
  state_ = State::kIdle;
  folder_.clear();
  ring_folder_.clear();
}

void Window::Start(const void* owner) {
  ForgetParents();
  if (state_ == State::kRecording) return;  // another registration's
  const Recorder* recorder = Recorder::Find();
  std::string().swap(bytes_);
  state_ = State::kIdle;
  if (recorder == nullptr || recorder->Active()) return;
  // The recorder lets go of the last window's log when it opens this one's, not before.
  std::string last = std::move(folder_), last_ring = std::move(ring_folder_);
  folder_ = TemporaryFolder();
  ring_folder_ = TemporaryFolder("/dev/shm");
  const std::string run = folder_ + "/run";
  const bool placed = !folder_.empty() && PlaceRing(run, ring_folder_);
  session_ = placed ? recorder->Start(run) : 0;
  RemoveFolder(&last);
  RemoveFolder(&last_ring);
  if (session_ == 0) return RemoveRun();
  ActivatePython();
  owner_ = owner;
  state_ = State::kRecording;
}

void Window::Stop(const void* owner) {
  ForgetParents();
  if (state_ != State::kRecording || owner != owner_) return;
  Recorder::Find()->Stop(session_);
  state_ = State::kStopped;
}

const std::string& Window::Collect(const void* owner) {
  static const std::string* const nothing = new std::string;
  ForgetParents();
  if (owner != owner_) return *nothing;
  if (state_ == State::kStopped) {
    Recorder::Find()->FinishPlugins();
    const std::string program = PackageFolder() + "/bin/crosscut", file = folder_ + "/xplane.pb";
    if (Export(program, folder_ + "/run", file)) bytes_ = Read(file);
    unlink(file.c_str());
    RemoveFolder(&ring_folder_);
    state_ = State::kCollected;
  }
  return state_ == State::kCollected ? bytes_ : *nothing;
}

void Window::Drop(const void* owner) {
  if (owner != owner_ || state_ != State::kCollected) return;
  std::string().swap(bytes_);
  state_ = State::kIdle;
}

void Window::Abandon() {
  ForgetParents();
  if (state_ == State::kRecording) Recorder::Find()->Stop(session_);
  if (state_ == State::kRecording || state_ == State::kStopped) AwaitQuiet(folder_ + "/run");
  state_ = State::kIdle;
  RemoveRun();
}

void Window::RemoveRun() {
  RemoveFolder(&folder_);
  RemoveFolder(&ring_folder_);
}

}  // namespace crosscut::tensorflow
