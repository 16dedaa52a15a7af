#include "sampling_loop.h"

#include <dirent.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "clock.h"
#include "crosscut/crosscut.h"

namespace crosscut::samples {
namespace {

constexpr int kLookForThreadsEvery = 16;  // ticks
constexpr size_t kMostCpuSampled = 512;   // threads: each takes a descriptor and two pages
constexpr size_t kMostWaiting = 64;       // stacks in a tick: the rest have their turn later

bool IsOurs(int tid) {
  char path[64], name[16] = "";
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  const bool known = std::fgets(name, sizeof name, file) != nullptr;
  const bool ours = std::strncmp(name, "crosscut", 8) == 0 || std::strncmp(name, "cc/", 3) == 0;
  std::fclose(file);
  return known && ours;
}

}  // namespace

// A table of our own with the eventfd alone in it: whatever the program closes and opens is not
// ours, and our descriptors do not count against its limit.
void SamplingLoop::OwnDescriptors() {
  const auto wake = static_cast<unsigned>(settings_.wake);
  if (syscall(SYS_close_range, wake + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) return;
  if (wake > 0) syscall(SYS_close_range, 0, wake - 1, 0);
}

void SamplingLoop::Run() {
  OwnDescriptors();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, settings_.wake, &event) != 0) return;
  bool on = false;
  int64_t next_ns = 0;
  for (;;) {
    if (const bool wanted = settings_.wanted->load(); wanted != on) {
      on = wanted;
      SwitchThreads(on);
      next_ns = since_ns_;
    }
    if (!Wait(on ? next_ns : -1)) return;
    if (!on || NowNs() < next_ns) continue;
    Tick();
    // Not in step with anything that the program does: 3/4 to 5/4 of the period.
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    const auto part =
        static_cast<int64_t>(random_ % static_cast<uint64_t>(settings_.period_ns / 2));
    next_ns = NowNs() + settings_.period_ns * 3 / 4 + part;
  }
}

// Takes the samples of threads that run, until `until_ns` (-1: for ever) or until it is woken.
bool SamplingLoop::Wait(int64_t until_ns) {
  constexpr int64_t kMs = 1'000'000;
  const int64_t left = std::max<int64_t>(until_ns - NowNs() + kMs - 1, 0) / kMs;
  epoll_event ready[32];
  const int count = epoll_wait(epoll_, ready, 32, until_ns < 0 ? -1 : static_cast<int>(left));
  if (count < 0 && errno != EINTR) return false;
  for (int i = 0; i < count; ++i) {
    const int tid = ready[i].data.fd;
    eventfd_t ignored;
    if (tid == 0) {
      eventfd_read(settings_.wake, &ignored);
    } else if ((ready[i].events & EPOLLIN) != 0) {
      SampleRunning(tid);
    } else {
      threads_.erase(tid);  // it ended
    }
  }
  return true;
}

void SamplingLoop::SwitchThreads(bool on) {
  since_ns_ = NowNs();
  if (on) FindThreads();
  for (auto& [tid, thread] : threads_) {
    CpuSample ignored;
    thread->cpu.Enable(on);
    thread->cpu.Take(&ignored);
  }
}

SamplingLoop::Thread& SamplingLoop::Add(int tid) {
  std::unique_ptr<Thread>& thread = threads_[tid];
  if (thread != nullptr) return *thread;
  thread = std::make_unique<Thread>();
  thread->ours = IsOurs(tid);
  thread->last_ns = NowNs();
  if (thread->ours || !settings_.native || threads_.size() > kMostCpuSampled) return *thread;
  if (thread->cpu.Open(tid, settings_.period_ns) != 0) return *thread;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = tid;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, thread->cpu.fd(), &event);
  return *thread;
}

void SamplingLoop::FindThreads() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  for (auto& [tid, thread] : threads_) thread->seen = false;
  while (const dirent* entry = readdir(tasks)) {
    if (const int tid = std::atoi(entry->d_name); tid > 0) Add(tid).seen = true;
  }
  closedir(tasks);
  std::erase_if(threads_, [](const auto& item) { return !item.second->seen; });
}

void SamplingLoop::FindPythonThreads() {
  for (auto& [tid, thread] : threads_) thread->state = nullptr;
  for (const PythonThread& python : stacks_.Threads()) Add(python.tid).state = python.state;
}

void SamplingLoop::Tick() {
  if (++ticks_ % kLookForThreadsEvery == 0) FindThreads();
  FindPythonThreads();
  const int64_t now = NowNs();
  std::vector<std::pair<int64_t, int>> due;  // last sample, thread
  for (auto& [tid, thread] : threads_) {
    if (thread->ours || thread->state == nullptr) continue;
    due.emplace_back(thread->last_ns, tid);
  }
  std::sort(due.begin(), due.end());
  if (due.size() > kMostWaiting) due.resize(kMostWaiting);
  for (const auto& [last, tid] : due) {
    if (now - last >= settings_.period_ns / 2) SampleWaiting(tid, threads_[tid].get());
  }
}

void SamplingLoop::SampleRunning(int tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  CpuSample sample;
  Thread* thread = found->second.get();
  if (thread->cpu.Take(&sample) == 0 || sample.at_ns < since_ns_) return;
  Emit(tid, thread, sample.at_ns, {libraries_.Find(sample.address), 0});
}

void SamplingLoop::SampleWaiting(int tid, Thread* thread) {
  uint32_t waits = names_.runs;
  const Waits::State state = waits_.Look(tid, &waits);
  const int64_t now = NowNs();
  if (state == Waits::kUnknown) return;
  // A thread that runs tells by itself where.
  const bool tells = thread->cpu.fd() >= 0;
  if (state == Waits::kRuns && tells && now - thread->last_ns < 2 * settings_.period_ns) return;
  Emit(tid, thread, now, {{0, 0}, waits});
}

void SamplingLoop::Emit(int tid, Thread* thread, int64_t at_ns, const Native& native) {
  const int64_t covers = at_ns - std::max(thread->last_ns, since_ns_);
  thread->last_ns = std::max(thread->last_ns, at_ns);
  const Stack* stack = nullptr;
  if (thread->state != nullptr) stack = &stacks_.Read({thread->state, tid});
  if (covers <= 0) return;
  crosscut_instant(names_.sample);
  crosscut_arg(names_.thread, tid);
  crosscut_arg(names_.ago, NowNs() - at_ns);
  crosscut_arg(names_.covers, covers);
  if (native.waits != 0) crosscut_arg_name(names_.waits, native.waits);
  if (native.place.library != 0) {
    crosscut_arg_name(names_.library, native.place.library);
    crosscut_arg(names_.offset, native.place.offset);
  }
  if (stack == nullptr) return;
  if (stack->own_line != 0) crosscut_arg_name(names_.own_line, stack->own_line);
  for (auto frame = stack->frames.rbegin(); frame != stack->frames.rend(); ++frame) {
    crosscut_arg_name(names_.frame, *frame);
  }
}

}  // namespace crosscut::samples
