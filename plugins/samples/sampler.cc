#include "sampler.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "clock.h"
#include "crosscut/crosscut.h"

namespace crosscut::samples {
namespace {

constexpr size_t kStackBytes = 256 << 10;  // of the sampling thread

uint32_t Text(const char* text) {
  return crosscut_intern(text, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
}

void* Main(void* loop) {
  prctl(PR_SET_NAME, "crosscut-sample");
  static_cast<SamplingLoop*>(loop)->Run();
  crosscut_source_state("samples", nullptr, "failed", "epoll is refused");
  return nullptr;
}

// Where no program expects one: what it opens next has the number that it would have without us.
int HighEventDescriptor() {
  constexpr rlim_t kHigh = 1 << 16;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int low = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (low < 0) return -1;
  const int high =
      fcntl(low, F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit.rlim_cur / 2, kHigh)));
  close(low);
  return high;
}

}  // namespace

bool Sampler::Init(int64_t period_ns, const char** problem) {
  if (!stacks_.Init(problem)) return false;
  CpuSamples trial;
  const int error = trial.Open(0, period_ns);
  if (error != 0) {
    refused_ = std::string("Python alone, no native code: perf_event_open: ") + strerror(error) +
               " (kernel.perf_event_paranoid must be 2 or less)";
  }
  probe_ = Text("sample");
  SampleNames names = {};
  names.sample = crosscut_intern("[sample]", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE,
                                 CROSSCUT_NO_LAYER, probe_);
  names.thread = Text("thread");
  names.ago = Text("ago_ns");
  names.covers = Text("covers_ns");
  names.frame = Text("frame");
  names.own_line = Text("own_line");
  names.library = Text("library");
  names.offset = Text("offset");
  names.waits = Text("waits");
  names.runs = error == 0 ? Text("a processor, or in the kernel") : 0;
  settings_ = {period_ns, error == 0, names, &wanted_, -1};
  return true;
}

void Sampler::Switch(bool on) {
  wanted_.store(on);
  if (on && loop_ == nullptr && !StartThread()) {
    crosscut_source_state("samples", "", "failed", "no thread could be started");
  }
  if (loop_ != nullptr) eventfd_write(settings_.wake, 1);
}

bool Sampler::StartThread() {
  settings_.wake = HighEventDescriptor();
  if (settings_.wake < 0) return false;
  loop_ = new SamplingLoop(settings_, stacks_);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attr, Main, loop_) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attr);
  if (!started) {
    close(settings_.wake);
    delete loop_;
    loop_ = nullptr;
  }
  return started;
}

void Sampler::AfterFork() {
  if (loop_ == nullptr) return;
  loop_ = nullptr;  // its thread may have been at work in it: it is left as it is
  close(settings_.wake);
  const char* problem = "";
  if (stacks_.Init(&problem)) Switch(wanted_.load());
}

// The least processor time that a thread which counts needs with a sample each 50 us, and without.
void Sampler::Calibrate() {
  constexpr int kRounds = 8;
  constexpr int64_t kPeriodNs = 50'000;
  if (!settings_.native) return;
  const auto count = [] {
    const int64_t begin = ThreadNs();
    for (int i = 0; i < 2'000'000; ++i) __asm__ volatile("" : : "r"(i));
    return ThreadNs() - begin;
  };
  int64_t without = INT64_MAX, with = INT64_MAX, worst = 0, samples = 0;
  for (int round = 0; round < kRounds; ++round) {
    CpuSamples cpu;
    CpuSample newest;
    without = std::min(without, count());
    if (cpu.Open(0, kPeriodNs) != 0) return;
    const int64_t took = count();
    cpu.Enable(false);
    samples += std::max(cpu.Take(&newest), 1);
    with = std::min(with, took);
    worst = std::max(worst, took);
  }
  const auto of_one = [&](int64_t ns) {
    return std::max<int64_t>((ns - without) * 1000 * kRounds / samples, 0);
  };
  crosscut_probe_cost(probe_, 0, of_one(with), of_one(with) / 2, of_one(worst), samples);
}

}  // namespace crosscut::samples
