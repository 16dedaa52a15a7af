#include "src/analyze/verdict/process_lines.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// The lead waits now and then, others too; some have samples, and some come and go.
std::string RandomProgram(std::mt19937_64* engine) {
  const auto below = [&](int n) {
    return static_cast<int>((*engine)() % static_cast<unsigned>(n));
  };
  std::string text =
      "process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n";
  for (int t = 0; t < 5; ++t) {
    const int begin = t == 0 ? 0 : below(600), end = t == 0 ? 1000 : begin + 1 + below(400);
    if (t > 0) {
      text += "thread t" + std::to_string(t) + " tid=" + std::to_string(8 + t) +
              " base=" + (below(3) > 0 ? "python" : "idle") + " life=" + std::to_string(begin) +
              ".." + std::to_string(end) + "\n";
    }
    for (int at = begin; at < end;) {
      const int from = at + below(60);
      at = from + 1 + below(150);
      if (at >= end) break;
      const std::string times = " " + std::to_string(from) + " " + std::to_string(at);
      text +=
          below(3) == 0 ? "span io.read" + times + " native\n" : "span wait" + times + " idle\n";
    }
    if (t > 0 && below(2) == 0) continue;
    for (int at = begin; at < end; at += 1 + below(90)) {
      text += "instant [sample] " + std::to_string(at) + "\narg covers_ns " +
              std::to_string(below(60)) + "\narg \"Own line\" \"a.py:1 f\"\n" +
              (below(4) > 0 ? "arg \"Waits for\" futex\n" : "");
    }
  }
  return text;
}

// The definition, instant by instant.
LayerSet Behind(const Context& context, LayerSet layers, int64_t at_ns) {
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  int64_t waits = 0;
  for (uint32_t t = 1; t < context.trace().tracks.size(); ++t) {
    const trace::Interval life = LifeOf(context.trace(), {t});
    if (at_ns < life.begin_ns || at_ns >= life.end_ns) continue;
    LeadCursor states(context.trace(), {t}, facts.doing, life);
    if (states.At(at_ns).layer != trace::Layer::kPython) continue;
    if (!WasSeenWaiting(LinesOfThread(context, {t})->At(at_ns))) return layers;
    ++waits;
  }
  if (waits == 0) return layers;
  const auto rest = static_cast<LayerSet>(layers & ~Bit(trace::Layer::kPython));
  return (rest & kHostBits) == 0 ? rest | kIdleBit : rest;
}

TEST(ProcessLines, LeavePythonOutWhereAllThreadsInItWereSeenWaiting) {
  constexpr LayerSet kPython = Bit(trace::Layer::kPython);
  int64_t left_out = 0, checked = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 engine(seed);
    const trace::Trace trace = Parse(RandomProgram(&engine));
    const Context context(trace);
    ProcessLines lines(context, {0});
    LeadCursor lead(trace, {0}, context.Shared<ThreadFacts>().doing, {0, 1000});
    for (int64_t at = 0; at < 1000;) {
      const LeadStretch& stretch = lead.At(at);
      const LayerSet layers = kPython | (seed % 2 == 0 ? Bit(trace::Layer::kNative) : LayerSet{0});
      int64_t until = stretch.end_ns;
      const LayerSet got = lines.LayersBehind(stretch, layers, at, &until);
      ASSERT_GT(until, at);
      for (int64_t each = at; each < until; ++each) {
        const bool idles = stretch.layer == trace::Layer::kIdle;
        ASSERT_EQ(got, idles ? Behind(context, layers, each) : layers)
            << "seed " << seed << " at " << each;
        left_out += got != layers;
        ++checked;
      }
      at += 1 + static_cast<int64_t>(engine() % static_cast<uint64_t>(until - at));
    }
  }
  EXPECT_GT(left_out, checked / 50);  // rich enough to mean something
  EXPECT_LT(left_out, checked / 2);
}

// Of a thread that lived between two looks nobody knows that it waited.
TEST(ProcessLines, PythonOfAThreadThatNoSampleMetIsWork) {
  std::string text =
      "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n";
  for (int at = 0; at < 10000; at += 1000) {
    text += "step step " + std::to_string(at) + " " + std::to_string(at + 1000) +
            "\nspan queue.Queue.get " + std::to_string(at + 400) + " " + std::to_string(at + 1000) +
            " idle\n";
  }
  text += "thread pool tid=8 base=python\n";
  for (int at = 10; at < 10000; at += 20) {
    text += "instant [sample] " + std::to_string(at) +
            "\narg covers_ns 20\narg \"Own line\" \"a.py:9 pool\"\narg \"Waits for\" futex\n";
  }
  const auto causes = [&](const std::string& more) {
    return testing::Rows(Parse(text + more), "step_causes");
  };
  using Rows = std::vector<std::string>;
  EXPECT_EQ(causes(""), (Rows{"train other-process 6000 6000 0", "train python 4000 4000 0"}));
  EXPECT_EQ(causes("thread short tid=9 base=python life=0..1000\n"),
            (Rows{"train other-process 5400 5400 0", "train python 4600 4600 0"}));
}

}  // namespace
}  // namespace crosscut::analyze
