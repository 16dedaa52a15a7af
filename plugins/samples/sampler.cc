#include "sampler.h"

#include <dirent.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "clock.h"
#include "crosscut/crosscut.h"

namespace crosscut::samples {
namespace {

constexpr size_t kStackBytes = 256 << 10;  // of the sampling thread

uint32_t Text(const char* text) {
  return crosscut_intern(text, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
}

// Processor time of a loop. Not inlined: two copies of it may differ in speed by half, depending on
// where they lie.
__attribute__((noinline)) int64_t Count() {
  const int64_t begin = ThreadNs();
  for (int i = 0; i < 500'000; ++i) __asm__ volatile("" : : "r"(i));
  return ThreadNs() - begin;
}

// What a sample adds to the processor time of a thread that counts. Kernel and program share the
// caches, which a loop leaves alone: between half and twice as much elsewhere. Once per process.
void Calibrate(uint32_t probe) {
  constexpr int kRounds = 9;
  constexpr int64_t kPeriodNs = 50'000;
  static std::atomic<bool> done{false};
  if (done.load()) return;
  int64_t of_one[kRounds], samples = 0;  // ps
  for (int64_t& cost : of_one) {
    CpuSamples cpu;
    CpuSample newest;
    const int64_t without = Count();
    if (cpu.Open(0, kPeriodNs) != 0) return;
    const int64_t with = Count();
    cpu.Enable(false);
    const int count = std::max(cpu.Take(&newest), 1);
    cost = std::max<int64_t>(with - without, 0) * 1000 / count;
    samples += count;
  }
  std::sort(std::begin(of_one), std::end(of_one));
  const int64_t middle = of_one[kRounds / 2];
  crosscut_probe_cost(probe, 0, middle, middle / 2, 2 * middle, samples);
  done.store(true);
}

// A table of this thread's own, with nothing in it: what the program closes and opens has the
// numbers that it would have, and ours do not count against its limit.
bool OwnDescriptors() {
  if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) return true;
  if (unshare(CLONE_FILES) != 0) return false;
  DIR* table = opendir("/proc/thread-self/fd");  // before Linux 5.9
  if (table == nullptr) return false;
  std::vector<int> open;
  while (const dirent* entry = readdir(table)) {
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(table)) {
      open.push_back(std::atoi(entry->d_name));
    }
  }
  closedir(table);
  for (const int fd : open) close(fd);
  return true;
}

}  // namespace

bool Sampler::Init(const char** problem) {
  if (!stacks_.Init(problem)) return false;
  SampleNames names = {};
  names.probe = Text("sample");
  names.sample = crosscut_intern("[sample]", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE,
                                 CROSSCUT_NO_LAYER, names.probe);
  names.thread = Text("thread");
  names.ago = Text("ago_ns");
  names.covers = Text("covers_ns");
  names.run_delay = Text("run_delay_ns");
  names.stack_after = Text("stack_after_ns");
  names.frame = Text("frame");
  names.own_line = Text("own_line");
  names.part = Text("part");
  names.library = Text("library");
  names.offset = Text("offset");
  names.waits = Text("waits");
  names.holds_gil = Text("holds_gil");
  names.runs = Text("a processor, or in the kernel");
  settings_ = {names, &wanted_, Calibrate};
  return true;
}

void Sampler::SetKind(int64_t period_ns, bool asked) {
  const int error = asked ? CpuSamples::Refusal() : 0;
  asked_.store(asked);
  wanted_.SetKind(period_ns, !asked, asked && error == 0);
  std::string told;
  if (!asked) told = "Python alone; --python=samples adds native code";
  if (error != 0) {
    told = std::string("Python alone, no native code: perf_event_open: ") + strerror(error) +
           " (kernel.perf_event_paranoid must be 2 or less)";
  }
  if (!failed_.load()) crosscut_source_state("samples", nullptr, "on", told.c_str());
}

void Sampler::Fail(const char* why) {
  failed_.store(true);
  crosscut_source_state("samples", nullptr, asked_.load() ? "failed" : "off", why);
}

void Sampler::Switch(bool on) {
  wanted_.Set(on);
  if (!on || has_thread_) return;
  has_thread_ = StartThread();
  if (!has_thread_) Fail("no thread could be started");
}

// The thread has its name from its first moment on, as it takes over ours: where the program forks
// before it ran, its name says whose it is (python/crosscut/_fork_warning.py).
bool Sampler::StartThread() {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto main = [](void* self) -> void* {
    static_cast<Sampler*>(self)->Main();
    return nullptr;
  };
  named_.store(false);
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  prctl(PR_SET_NAME, "crosscut-sample");
  const bool started = pthread_create(&thread, &attr, main, this) == 0;
  prctl(PR_SET_NAME, name);
  named_.store(true);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attr);
  return started;
}

void Sampler::Main() {
  while (!named_.load()) usleep(100);  // until then the starting thread passes for one of ours
  if (!OwnDescriptors()) return Fail("the kernel refuses a thread its own table of descriptors");
  auto loop = std::make_unique<SamplingLoop>(settings_, stacks_);
  const char* refused = loop->Run();
  if (refused != nullptr) Fail(refused);
}

void Sampler::AfterFork() {
  if (!has_thread_) return;
  has_thread_ = false;  // what that thread had in hand is left as it is
  const char* problem = "";
  if (!stacks_.Init(&problem)) return Fail(problem);
  Switch(wanted_.on());
}

}  // namespace crosscut::samples
