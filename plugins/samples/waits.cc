#include "waits.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "crosscut/crosscut.h"

namespace crosscut::samples {
namespace {

struct Call {
  long number;
  const char* name;
  bool of_any_file = false;  // what it waits for depends on its file, the first argument
};
// Those that a thread can spend long in; others are told by number.
constexpr Call kCalls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_ioctl, "ioctl"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_madvise, "madvise"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_sched_yield, "sched_yield"},
#ifdef SYS_poll  // old calls that newer architectures do without
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

const Call* Find(long number) {
  for (const Call& call : kCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

// Of the thread's open files, by the link alone: a look at the file itself waits with the thread
// where a server does not answer. A named pipe, or one that is gone, is as a regular one.
const char* const kFiles[] = {"", " (pipe)", " (socket)", " (device)"};
size_t FileOf(int tid, unsigned long fd) {
  char path[64], target[16] = "";
  std::snprintf(path, sizeof path, "/proc/self/task/%d/fd/%lu", tid, fd);
  if (readlink(path, target, sizeof target - 1) < 0) return 0;
  const std::string_view begin = target;
  if (begin.starts_with("pipe:")) return 1;
  if (begin.starts_with("socket:")) return 2;
  return begin.starts_with("/dev/") && !begin.starts_with("/dev/shm/") ? 3 : 0;
}

// The first bytes of /proc/self/task/TID/FILE, with a 0 behind them; false where there are none.
bool ReadOf(int tid, const char* file, char* text, size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t bytes = read(fd, text, size - 1);
  close(fd);
  if (bytes > 0) text[bytes] = 0;
  return bytes > 0;
}

}  // namespace

Waits::State Waits::Look(int tid, uint32_t* call) {
  char text[48] = "";
  if (!ReadOf(tid, "syscall", text, sizeof text)) return kUnknown;
  if (std::strncmp(text, "running", 7) == 0) return kRuns;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (number < 0) return kRuns;  // it waits, but in no call: for a page, or to be continued
  const Call* const known = Find(number);
  const size_t file =
      known != nullptr && known->of_any_file ? FileOf(tid, std::strtoul(end, nullptr, 16)) : 0;
  uint32_t& id = calls_[static_cast<unsigned long>(number) * std::size(kFiles) + file];
  if (id == 0) {
    std::string name = known != nullptr ? known->name : "system call " + std::to_string(number);
    name += kFiles[file];
    id = crosscut_intern(name.data(), name.size(), CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  }
  *call = id;
  return kWaits;
}

// "time on processors, time ready without one, turns": all 0 where no account is kept.
Account AccountOf(int tid) {
  char text[64] = "";
  if (!ReadOf(tid, "schedstat", text, sizeof text)) return {};
  long long ran = 0, delayed = 0, turns = 0;
  const int read = std::sscanf(text, "%lld %lld %lld", &ran, &delayed, &turns);
  return read == 3 && turns > 0 ? Account{delayed, turns} : Account{};
}

}  // namespace crosscut::samples
