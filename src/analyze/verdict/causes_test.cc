#include "src/analyze/verdict/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "src/analyze/columns.h"
#include "src/analyze/context.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/native_code.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  template <size_t n>
  std::string Of(const char* const (&texts)[n]) {
    return texts[Below(n)];
  }

 private:
  std::mt19937_64 random_;
};

constexpr int kMs = 1'000'000, kEnd = 400;

std::string Ns(int ms) { return ms == 0 ? "0" : std::to_string(ms) + "000000"; }

// A thread of calls and samples in any of few states, so that there are many of each.
std::string RandomThread(Draw* draw, const std::string& head, bool samples) {
  constexpr const char* kCalls[] = {"time.sleep|idle",
                                    "threading.Lock.acquire|idle",
                                    "\"(no processor)\"|idle",
                                    "queue.get|idle",
                                    "os.read|idle",
                                    "select.select|idle",
                                    "io.FileIO.read|native",
                                    "aten::mm|framework",
                                    "work|native",
                                    "cudaLaunchKernel|runtime"};
  constexpr const char* kWaits[] = {"futex", "futex",           "read", "write (pipe)",
                                    "fsync", "clock_nanosleep", ""};
  constexpr const char* kLibraries[] = {"libgomp.so", "libgomp.so", "libpython3.11.so", "libc.so"};
  constexpr const char* kStacks[] = {"a.py:1 f", "a.py:1 f;lib.py:2 g",
                                     "a.py:1 f;threading.py:3 Condition.wait",
                                     "a.py:1 f;convert_frame.py:4 h", "a.py:1 f;dataloader.py:5 w"};
  std::string calls[2];
  for (std::string& call : calls) call = draw->Of(kCalls);
  std::string text = "thread " + head + "\n";
  for (int at = draw->Below(20); at < kEnd;) {
    const int until = at + 1 + draw->Below(60);
    const std::string call = calls[draw->Below(2)];
    const size_t bar = call.find('|');
    text += "span " + call.substr(0, bar) + " " + Ns(at) + " " + Ns(std::min(until, kEnd)) + " " +
            call.substr(bar + 1) + "\n";
    at = until + draw->Below(40);
  }
  for (int at = draw->Below(8); samples && at < kEnd; at += 4 + draw->Below(4)) {
    text += "instant [sample] " + Ns(at) + "\narg covers_ns " + Ns(6) +
            "\narg \"Own line\" \"a.py:" + std::to_string(draw->Below(3)) +
            " f\"\narg \"Python stack\" \"" + draw->Of(kStacks) + "\"\narg Library " +
            draw->Of(kLibraries) + "\n";
    const std::string waits = draw->Of(kWaits);
    if (!waits.empty()) text += "arg \"Waits for\" " + waits + "\n";
    if (draw->Below(2) == 0) text += "arg \"Holds the GIL\" 1\n";
  }
  return text;
}

std::string RandomProgram(uint64_t seed) {
  Draw draw(seed);
  const bool child = draw.Below(2) == 0;
  std::string text = "# crosscut trace\nprocess train pid=7 window=0.." + Ns(kEnd) + "\n" +
                     RandomThread(&draw, "main tid=7 base=python main lead", true) + "op all 0 " +
                     Ns(kEnd / (1 + draw.Below(2))) + "\n" +
                     RandomThread(&draw, "worker tid=8 base=python", draw.Below(4) != 0);
  if (child) text += "process child pid=9 parent=train window=0.." + Ns(kEnd) + "\n";
  return text;
}

// Of every other seed, with steps.
std::string WithSteps(std::string text, uint64_t seed) {
  Draw draw(seed);
  std::string steps;
  for (int at = 0, i = 0; seed % 2 == 0 && at < kEnd; ++i) {
    const int end = std::min(kEnd, at + 1 + draw.Below(40));
    steps += "step step " + Ns(at) + " " + Ns(end) + " number=" + std::to_string(i) + "\n";
    at = end;
  }
  return text.insert(text.find('\n', text.find("thread main")) + 1, steps);
}

// Whatever samples move from cause to cause, nothing is counted twice, and nothing is lost.
TEST(Causes, LinesNamesAndStepsAddUpToTheCauseWhateverSamplesMove) {
  size_t moved = 0, preempted = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = WithSteps(RandomProgram(seed), seed);
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    const ProcessCauses& causes = context.Shared<Causes>().processes[0];
    int64_t total = 0;
    for (size_t c = 0; c < kCauses; ++c) {
      if (static_cast<Cause>(c) == Cause::kPreemption) continue;
      const CauseSum& sum = causes.causes[c];
      const std::string what =
          "seed " + std::to_string(seed) + " " + CauseName(static_cast<Cause>(c));
      int64_t of_lines = 0, of_operations = 0, of_names = 0, of_steps = 0;
      for (const auto& [line, blamed] : sum.lines) {
        ASSERT_GE(blamed.ns, 0) << what;
        ASSERT_GE(blamed.samples, 0) << what;
        ASSERT_GE(blamed.variance, -1.0) << what;
        of_lines += blamed.ns;
        const auto leads = sum.leads.find(line);
        const auto others = sum.others.find(line);
        int64_t here = 0;
        for (const StepParts* parts : {leads == sum.leads.end() ? nullptr : &leads->second.steps,
                                       others == sum.others.end() ? nullptr : &others->second}) {
          for (const auto& [step, ns] : parts == nullptr ? StepParts() : *parts) here += ns;
        }
        if (!causes.steps.empty() && static_cast<Cause>(c) != Cause::kRecording) {
          ASSERT_NEAR(static_cast<double>(here), static_cast<double>(blamed.ns), 100) << what;
        }
      }
      for (const CauseTimes& step : causes.steps) {
        ASSERT_GE(step[c], -10) << what;
        of_steps += step[c];
      }
      if (!causes.steps.empty()) {
        ASSERT_NEAR(static_cast<double>(of_steps), static_cast<double>(sum.ns), 100) << what;
      }
      for (const auto& [operation, ns] : sum.operations) of_operations += ns;
      for (const auto& [name, ns] : sum.names) of_names += ns;
      ASSERT_GE(sum.samples, 0) << what;
      ASSERT_GE(sum.ns, 0) << what;
      ASSERT_EQ(of_lines, sum.ns) << what;
      ASSERT_NEAR(static_cast<double>(of_operations), static_cast<double>(sum.ns), 100) << what;
      ASSERT_LE(of_names, sum.ns + 100) << what;
      total += sum.ns;
    }
    ASSERT_EQ(total, causes.total_ns) << "seed " << seed;
    ASSERT_EQ(total + causes.preempted.ns, int64_t{kEnd} * kMs) << "seed " << seed;
    preempted += causes.preempted.ns > 0;
    moved += !causes.gil.empty();
  }
  EXPECT_GT(moved, 20u);
  EXPECT_GT(preempted, 20u);
}

// The lines of who works, with their bounds; and what the verdict says of them.
TEST(Causes, LinesAddUpToTheWindowAndNoEvidenceExceedsIt) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const Table work = Compute(trace, "part_work"), verdict = Compute(trace, "verdict");
    int64_t all = 0, corrected = 0;
    for (size_t row = 0; row < work.rows(); ++row) {
      if (work.texts("process")[row] != "train") continue;
      const int64_t ns = work.integers("ns")[row];
      all += ns;
      corrected += work.integers("corrected_ns")[row];
      if (work.integers("low_ns")[row] == kMissing) continue;
      ASSERT_LE(work.integers("low_ns")[row], ns) << "seed " << seed;
      ASSERT_GE(work.integers("high_ns")[row], ns) << "seed " << seed;
    }
    ASSERT_EQ(all, int64_t{kEnd} * kMs) << "seed " << seed;
    ASSERT_EQ(corrected, all) << "seed " << seed;
    for (size_t row = 0; row < verdict.rows(); ++row) {
      // "123 ms of 400 ms: ...": what the place has, of all causes, then the whole. Before that
      // there may be a cause's part.
      const std::string& evidence = verdict.texts("evidence")[row];
      const double share = std::max(verdict.reals("share")[row], verdict.reals("gain_share")[row]);
      const size_t unit = evidence.find(" ms of ");
      if (unit == evidence.npos) continue;
      const size_t number = evidence.rfind(' ', unit - 1) + 1;  // npos + 1 is 0
      ASSERT_LE(std::stod(evidence.substr(number)), share * kEnd + 1) << evidence;
    }
  }
}

// A second of `span` with samples that saw the lead wait in `call`: the causes, by name.
std::string CausesOf(const std::string& span, const std::string& call) {
  std::string text =
      "# crosscut trace\nprocess train pid=7 window=0..1000000000\n"
      "thread main tid=7 base=python main lead\n" +
      span;
  for (int at = 20; at < 1000; at += 20) {
    text += "instant [sample] " + Ns(at) + "\narg covers_ns " + Ns(20) +
            "\narg \"Own line\" \"a.py:1 f\"\narg \"Python stack\" \"a.py:1 f\"\n";
    if (!call.empty()) text += "arg \"Waits for\" \"" + call + "\"\n";
  }
  const Table causes = Compute(Parse(text), "step_causes");
  std::string out;
  for (const std::string& cause : causes.texts("cause")) out += (out.empty() ? "" : " ") + cause;
  return out;
}

TEST(Causes, SamplesTellWhatFileACallWaitsFor) {
  const std::string write = "span io.FileIO.write 0 1000000000 native\n";
  EXPECT_EQ(CausesOf(write, "write"), "disk");
  EXPECT_EQ(CausesOf(write, ""), "disk");
  EXPECT_EQ(CausesOf(write, "write (device)"), "disk");
  EXPECT_EQ(CausesOf(write, "write (pipe)"), "other-process");
  EXPECT_EQ(CausesOf(write, "writev (socket)"), "other-process");
  const std::string database = "span sqlite3.commit 0 1000000000 native\n";
  EXPECT_EQ(CausesOf(database, "fdatasync"), "disk");
  EXPECT_EQ(CausesOf(database, "write (pipe)"), "native");
  EXPECT_EQ(CausesOf("span aten::save 0 1000000000 framework\n", "pwrite64"), "disk");
  EXPECT_EQ(CausesOf("", "fsync"), "disk");  // in Python, as it seems
  EXPECT_EQ(CausesOf("span fcntl.flock 0 1000000000 idle\n", "flock"), "other-process");
}

// With Crosscut's own work and devices, in steps or not.
TEST(Causes, NoShareAndNoGainIsMoreThanAll) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    std::string text = WithSteps(RandomProgram(seed), seed);
    std::string more = "thread third tid=10\n";
    for (int at = draw.Below(90); at < kEnd; at += draw.Below(90)) {
      const int end = std::min(kEnd, at + 1 + draw.Below(60));
      more += "span edge " + Ns(at) + " " + Ns(end) + " overhead\n";
      at = end;
    }
    for (int stream = draw.Below(3); stream > 0; --stream) {
      more += "device gpu device=0 stream=" + std::to_string(stream) + "\n";
      for (int at = draw.Below(90); at < kEnd; at += draw.Below(30)) {
        const int end = std::min(kEnd, at + 1 + draw.Below(60));
        more += "span " + draw.Of({"gemm", "softmax", "Memcpy", "nccl"}) + " " + Ns(at) + " " +
                Ns(end) + " device\n";
        at = end;
      }
    }
    const size_t child = text.find("process child");
    text.insert(child == text.npos ? text.size() : child, more);
    const trace::Trace trace = Parse(text);
    const Table verdict = Compute(trace, "verdict"), places = Compute(trace, "places");
    for (size_t row = 0; row < verdict.rows(); ++row) {
      const std::string what =
          "seed " + std::to_string(seed) + " " + verdict.texts("headline")[row];
      const double gain = verdict.reals("gain_share")[row];
      ASSERT_LE(verdict.reals("share")[row], 1 + 1e-9) << what;
      ASSERT_LE(gain, 1 + 1e-6) << what << verdict.texts("blame")[row];
      ASSERT_FALSE(verdict.reals("gain_low_share")[row] > gain + 1e-6) << what;
      ASSERT_FALSE(verdict.reals("gain_high_share")[row] < gain - 1e-6) << what;
      ++rows;
    }
    const Context context(trace);
    std::map<std::string, int64_t> sums;
    for (size_t row = 0; row < places.rows(); ++row) {
      sums[places.texts("process")[row]] += places.integers("ns")[row];
      ASSERT_LE(places.integers("low_ns")[row], places.integers("place_ns")[row] + 1);
      ASSERT_GE(places.integers("high_ns")[row], places.integers("place_ns")[row] - 1);
    }
    ASSERT_LE(sums["train"], context.Shared<Causes>().processes[0].program_ns()) << seed;
  }
  EXPECT_GT(rows, 400u);
}

TEST(Causes, CallsOfATracedFunctionAreNoCompilation) {
  const std::string file = "a.py:1 f;tracing_compilation.py:";
  EXPECT_FALSE(Compiles(file + "139 call_function;context.py:763 call_function"));
  EXPECT_TRUE(Compiles(file + "310 _create_concrete_function;func_graph.py:1065 make"));
  EXPECT_TRUE(Compiles("a.py:1 f;convert_frame.py:4 h"));
  EXPECT_TRUE(Compiles("a.py:1 f;pjit.py:9 cache_miss;partial_eval.py:3 trace_to_jaxpr_dynamic"));
  EXPECT_TRUE(
      Compiles("a.py:1 f;pjit.py:9 cache_miss;pxla.py:3 lower_sharding_computation;b.py:2 g"));
  EXPECT_FALSE(Compiles("a.py:1 f;pjit.py:9 cache_miss;pxla.py:3 ExecuteReplicated.__call__"));
}

}  // namespace
}  // namespace crosscut::analyze
