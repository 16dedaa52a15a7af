// C12: what a plugin costs the program, in pairs of blocks of steps: one process has the plugin,
// the other does not, both on one processor, in the order ABBA.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "src/check/harness/options.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int kPairs = 400, kRepeats = 5, kSteps = 20;
constexpr double kIdle = 0.006, kActive = 0.02, kActiveTail = 0.05;

enum class Kind { kNone, kIdlePlugin, kActivePlugin };

double volatile sink;
// Tens of us, and three pieces of device work.
void Step() {
  double x = 1;
  for (int i = 0; i < 12'000; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
  WorkUnwatched(3);
}

int64_t Block() {
  const int64_t before = MonotonicNs();
  for (int i = 0; i < kSteps; ++i) Step();
  return MonotonicNs() - before;
}

// A process that runs a block whenever it is asked to.
class Worker {
 public:
  explicit Worker(Kind kind) {
    if (pipe(ask_) != 0 || pipe(answer_) != 0) return;
    pid_ = fork();
    if (pid_ == 0) Serve(kind);
    close(ask_[0]);
    close(answer_[1]);
  }
  ~Worker() {
    close(ask_[1]);
    close(answer_[0]);
    if (pid_ > 0) ReportEnding(WaitFor(pid_), "C12");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // ns; 0 where the process is gone.
  int64_t Time() {
    int64_t ns = 0;
    if (write(ask_[1], "", 1) != 1 || read(answer_[0], &ns, sizeof ns) != sizeof ns) return 0;
    return ns;
  }

 private:
  [[noreturn]] void Serve(Kind kind) {
    close(ask_[1]);
    close(answer_[0]);
    const auto plugin = kind == Kind::kNone ? nullptr : Plugin::Make(false);
    const bool active = kind == Kind::kActivePlugin && plugin != nullptr;
    SetMockWork(0);
    char byte;
    for (int block = 0; read(ask_[0], &byte, 1) == 1; ++block) {
      // New sessions now and then, so that buffers do not fill; outside what is timed.
      if (active && block % 50 == 0) {
        if (block > 0) plugin->Stop();
        plugin->Start();
      }
      const int64_t ns = Block();
      if (write(answer_[1], &ns, sizeof ns) != sizeof ns) break;
    }
    if (active) plugin->Stop();
    _exit(0);
  }

  int ask_[2] = {-1, -1}, answer_[2] = {-1, -1};
  pid_t pid_ = -1;
};

struct Ratios {
  double median = 1, tail = 1;  // 50th and 99th percentile of with / without
};

Ratios Compare(Worker* without, Worker* with) {
  std::vector<double> ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool swapped = pair % 2 == 1;
    const int64_t first = (swapped ? with : without)->Time();
    const int64_t second = (swapped ? without : with)->Time();
    if (first == 0 || second == 0) return {};
    ratios.push_back(swapped ? static_cast<double>(first) / static_cast<double>(second)
                             : static_cast<double>(second) / static_cast<double>(first));
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kPairs / 2], ratios[kPairs * 99 / 100]};
}

Ratios MedianOf(std::vector<Ratios> all) {
  Ratios out;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const Ratios& a, const Ratios& b) { return a.median < b.median; });
  out.median = middle->median;
  std::nth_element(all.begin(), middle, all.end(),
                   [](const Ratios& a, const Ratios& b) { return a.tail < b.tail; });
  out.tail = middle->tail;
  return out;
}

std::string Percent(double ratio) {
  char text[32];
  snprintf(text, sizeof text, "%+.2f %%", (ratio - 1) * 100);
  return text;
}

void Judge(const Ratios& same, const Ratios& idle, const Ratios& active) {
  const std::string beside = "; two equal processes differ by " + Percent(same.median);
  Note("idle " + Percent(idle.median) + ", active " + Percent(active.median) +
       " (99th percentile " + Percent(active.tail) + beside + ", " + Percent(same.tail) + ")");
  const double noise = 3 * std::abs(same.median - 1);
  if (idle.median - 1 > std::max(kIdle, noise)) {
    Fail("C12.idle", "a plugin that does not record costs " + Percent(idle.median) + beside +
                         ": install hooks in start and remove them in stop");
  }
  if (active.median - 1 > kActive + noise ||
      active.tail - same.tail > kActiveTail + std::abs(same.tail - 1)) {
    Fail("C12.active", "a plugin that records costs " + Percent(active.median) +
                           ", 99th percentile " + Percent(active.tail) + beside +
                           ": do less in each call of the device's API");
  }
}

}  // namespace

void RunOverhead() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  std::vector<Ratios> same, idle, active;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    Phase("repeat " + std::to_string(repeat + 1));
    Worker without(Kind::kNone), again(Kind::kNone);
    Worker idle_plugin(Kind::kIdlePlugin), active_plugin(Kind::kActivePlugin);
    same.push_back(Compare(&without, &again));
    idle.push_back(Compare(&without, &idle_plugin));
    active.push_back(Compare(&without, &active_plugin));
  }
  Judge(MedianOf(same), MedianOf(idle), MedianOf(active));
}

}  // namespace crosscut::check
