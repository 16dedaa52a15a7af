#include "sampling_loop.h"

#include <dirent.h>
#include <sys/epoll.h>
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

constexpr int64_t kLookForThreadsNs = 200'000'000;
constexpr size_t kMostCpuSampled = 512;  // threads: each takes a descriptor and two pages
constexpr int64_t kSeldom = 100;         // of the time of a processor: 1 %
constexpr int64_t kShortPauseNs = 1'000'000'000;

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

bool HasEnded(int tid) { return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH; }

}  // namespace

bool SamplingLoop::Seldom::IsDue(int64_t now_ns, int64_t least_ns) const {
  return now_ns - done_ns_ >= std::max(least_ns, kSeldom * cost_ns_);
}

template <class Action>
void SamplingLoop::Seldom::Do(Action action) {
  done_ns_ = NowNs();
  const int64_t begin = ThreadNs();
  action();
  cost_ns_ = ThreadNs() - begin;
}

const char* SamplingLoop::Run() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return "epoll is refused";
  looked_ = Now();
  FindPythonThreads();
  distance_.Begin(NowNs(), wanted_.unwanted_ns());
  int64_t next_ns = NextTick();
  for (;;) {
    if (!wanted_.on()) {
      if (!Rest(&next_ns)) return nullptr;
    }
    if (!Wait(next_ns)) return "epoll is refused";
    if (!wanted_.on() || NowNs() < next_ns) continue;
    if (all_.IsDue(NowNs(), kLookForThreadsNs)) {
      if (MainEnded()) return nullptr;
      all_.Do([this] {
        if (native_) FindThreads();
      });
    }
    if (wanted_.period_ns() != period_ns_ || wanted_.native() != native_) FollowKind();
    Tick();
    next_ns = NextTick();
  }
}

// By a bare exit call, of which no handler is told. It has no executable any more.
bool SamplingLoop::MainEnded() const {
  char name[1];
  return readlink("/proc/self/exe", name, sizeof name) < 0 && errno == ENOENT;
}

// Until samples are wanted again; false where that is never. A pause that ends before the next look
// is not noticed: it costs no thread anything. Nor does one of a few steps, where it can be slept
// through: who begins the next step and wakes this thread gives its processor to it.
bool SamplingLoop::Rest(int64_t* next_ns) {
  for (auto& [tid, thread] : threads_) thread->cpu.Enable(false);
  for (const int64_t begin = NowNs(); !wanted_.on();) {
    if (MainEnded()) return false;
    *next_ns = NextTick();
    if (!native_ && NowNs() - begin < kShortPauseNs) {
      usleep(static_cast<useconds_t>(std::max<int64_t>(*next_ns - NowNs(), 0) / 1000));
    } else {
      wanted_.Await();
      *next_ns = NextTick();
    }
  }
  looked_ = Now();
  for (auto& [tid, thread] : threads_) {
    CpuSample ignored;
    thread->cpu.Enable(true);
    thread->cpu.Take(&ignored);
  }
  return true;
}

// Not before the first tick: the first event on a machine waits for all its processors, and the
// process cannot end meanwhile.
void SamplingLoop::FollowKind() {
  period_ns_ = wanted_.period_ns();
  native_ = wanted_.native();
  if (native_) settings_.calibrate(names_.probe);
  for (auto& [tid, thread] : threads_) {
    thread->cpu.Close();
    if (native_) SampleNative(tid, thread.get());
  }
  if (native_) FindThreads();
}

int64_t SamplingLoop::Period() {
  const int64_t most = wanted_.period_ns();
  if (!wanted_.nearer_at_first()) return most;
  return distance_.At(NowNs(), wanted_.unwanted_ns(), most);
}

// Not in step with anything that the program does, such as a loop that takes about as long: 1/4 to
// 7/4 of the period.
int64_t SamplingLoop::NextTick() {
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  const int64_t period = Period();
  return NowNs() + period / 4 +
         static_cast<int64_t>(random_ % static_cast<uint64_t>(period * 3 / 2));
}

// Takes the samples of threads that run, until `until_ns`. Where none is asked for nothing can come
// meanwhile, and the time need be no whole number of milliseconds.
bool SamplingLoop::Wait(int64_t until_ns) {
  constexpr int64_t kMs = 1'000'000;
  const int64_t left = std::max<int64_t>(until_ns - NowNs(), 0);
  if (!native_) {
    usleep(static_cast<useconds_t>(left / 1000));
    return true;
  }
  epoll_event ready[32];
  const int count = epoll_wait(epoll_, ready, 32, static_cast<int>((left + kMs - 1) / kMs));
  if (count < 0 && errno != EINTR) return false;
  for (int i = 0; i < count; ++i) {
    const int tid = ready[i].data.fd;
    if ((ready[i].events & EPOLLIN) != 0) {
      SampleRunning(tid);
    } else {
      threads_.erase(tid);  // it ended
    }
  }
  return true;
}

// Who was not there at the last look stands for all since: of many that live shorter than looks are
// apart, few are met.
SamplingLoop::Thread& SamplingLoop::Add(int tid) {
  std::unique_ptr<Thread>& thread = threads_[tid];
  if (thread != nullptr) return *thread;
  thread = std::make_unique<Thread>();
  thread->ours = IsOurs(tid);
  thread->last = looked_;
  if (native_) SampleNative(tid, thread.get());
  return *thread;
}

void SamplingLoop::SampleNative(int tid, Thread* thread) {
  if (thread->ours || threads_.size() > kMostCpuSampled) return;
  if (thread->cpu.Open(tid, period_ns_) != 0) return;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = tid;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, thread->cpu.fd(), &event);
}

// The kernel keeps what was looked up of a thread in /proc until that ends; the parent of a process
// that ends waits for it with a busy processor. So no thread is looked up that is not sampled.
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
  python_.Do([this] {
    const Moment now = Now();
    for (auto& [tid, thread] : threads_) thread->state = nullptr;
    const std::vector<PythonThread> python = stacks_.Threads();
    for (const PythonThread& each : python) {
      Add(each.tid).state = each.state;
      if (each.has_gil) turns_.Ran(each.tid, now.at_ns);
    }
    if (!native_) {
      std::erase_if(threads_, [](const auto& item) {
        return item.second->state == nullptr && HasEnded(item.first);
      });
    }
    looked_ = now;
  });
}

void SamplingLoop::Tick() {
  const Moment now = Now();
  if (python_.IsDue(now.at_ns, 0)) FindPythonThreads();
  const int64_t period = Period();
  const int64_t most = allowance_.At(now.at_ns, period), begin = ThreadNs();
  const auto sample = [&](int tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return false;
    Thread* thread = found->second.get();
    if (thread->ours || thread->state == nullptr || Elapsed(*thread, now) < period / 4)
      return false;
    SampleWaiting(tid, thread);
    return true;
  };
  const int leads[] = {getpid(), wanted_.stepper()};
  turns_.Look(threads_, leads, now.at_ns, sample, [&] { return most - (ThreadNs() - begin); });
  allowance_.Spend(ThreadNs() - begin);
}

void SamplingLoop::SampleRunning(int tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  CpuSample sample;
  Thread* thread = found->second.get();
  if (thread->cpu.Take(&sample) == 0 || sample.at_ns < wanted_.since_ns()) return;
  thread->waiting.state = nullptr;
  const int64_t stack_after_ns = NowNs() - sample.at_ns;
  const Stack* const stack = Read(tid, *thread);
  // It may have released the GIL since, so only that it has it counts.
  Emit(tid, thread,
       {{sample.at_ns, wanted_.unwanted_ns()},
        {libraries_.Find(sample.address), 0, Gil::kHeld},
        stack,
        stack_after_ns,
        AccountOf(tid)});
}

// The account first: where it is the same the next time, the thread got no processor in between, so
// it waits still, and in the same line.
void SamplingLoop::SampleWaiting(int tid, Thread* thread) {
  const Account account = AccountOf(tid);
  const int64_t before = thread->account.turns;
  Waiting& waiting = thread->waiting;
  if (waiting.state == thread->state && account.turns > 0 && account.turns == before) {
    return Emit(tid, thread, {Now(), waiting.native, &waiting.stack, 0, account});
  }
  waiting.state = nullptr;
  uint32_t waits = native_ ? names_.runs : 0;
  const Gil gil = stacks_.GilOf({thread->state, tid});
  const Waits::State state = waits_.Look(tid, &waits);
  const Moment now = Now();
  if (state == Waits::kRuns || (before > 0 && account.turns != before)) {
    turns_.Ran(tid, now.at_ns);
  }
  if (state == Waits::kUnknown) return;
  // A thread that runs tells by itself where.
  const bool tells = thread->cpu.fd() >= 0;
  if (state == Waits::kRuns && tells && Elapsed(*thread, now) < 2 * period_ns_) return;
  const Native native = {{0, 0}, waits, gil};
  const Stack* const stack = Read(tid, *thread);
  Emit(tid, thread, {now, native, stack, 0, account});
  if (state == Waits::kWaits) waiting = {thread->state, native, *stack};
}

// Both of one time: a control step may begin and end while this thread has no processor.
SamplingLoop::Moment SamplingLoop::Now() const {
  for (;;) {
    const Moment now = {NowNs(), wanted_.unwanted_ns()};
    if (wanted_.since_ns() <= now.at_ns) return now;
  }
}

// Since its last sample, or the last look without it, less the time in which none was wanted.
int64_t SamplingLoop::Elapsed(const Thread& thread, const Moment& at) {
  return at.at_ns - thread.last.at_ns - (at.unwanted_ns - thread.last.unwanted_ns);
}

// Since its last sample; -1 where that is not known. In a time in which no sample was wanted it may
// have waited, too, so nothing is told across one.
int64_t SamplingLoop::RunDelay(const Thread& thread, const Moment& at, const Account& now) {
  const int64_t before = thread.account.delay_ns;
  const bool known = before >= 0 && now.delay_ns >= before;
  return known && thread.last.unwanted_ns == at.unwanted_ns ? now.delay_ns - before : -1;
}

const Stack* SamplingLoop::Read(int tid, const Thread& thread) {
  return thread.state == nullptr ? nullptr : &stacks_.Read({thread.state, tid});
}

void SamplingLoop::Emit(int tid, Thread* thread, const Told& told) {
  if (!wanted_.on()) return;
  const auto& [at, native, stack, stack_after_ns, account] = told;
  const int64_t covers = Elapsed(*thread, at);
  if (covers <= 0) return;
  const int64_t run_delay = RunDelay(*thread, at, account);
  thread->last = at;
  thread->account = account;
  crosscut_instant(names_.sample);
  crosscut_arg(names_.thread, tid);
  crosscut_arg(names_.ago, NowNs() - at.at_ns);
  crosscut_arg(names_.covers, covers);
  if (run_delay >= 0) crosscut_arg(names_.run_delay, run_delay);
  if (native.waits != 0) crosscut_arg_name(names_.waits, native.waits);
  if (native.place.library != 0) {
    crosscut_arg_name(names_.library, native.place.library);
    crosscut_arg(names_.offset, native.place.offset);
  }
  if (stack == nullptr) return;
  if (native.place.library != 0) crosscut_arg(names_.stack_after, stack_after_ns);
  if (stack->own_line != 0) crosscut_arg_name(names_.own_line, stack->own_line);
  // Where it changed meanwhile, it is not known at which moment it had the GIL.
  if (stack->gil == native.gil && native.gil != Gil::kUnknown) {
    crosscut_arg(names_.holds_gil, static_cast<uint64_t>(native.gil));
  }
  if (stack->part != Part::kWhole) crosscut_arg(names_.part, static_cast<uint64_t>(stack->part));
  for (auto frame = stack->frames.rbegin(); frame != stack->frames.rend(); ++frame) {
    crosscut_arg_name(names_.frame, *frame);
  }
}

}  // namespace crosscut::samples
