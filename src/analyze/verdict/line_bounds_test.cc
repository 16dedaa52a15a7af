#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/thread_lines.h"

namespace crosscut::analyze {
namespace {

using testing::TestTrace;

// Programs drawn at random of which it is known where they are at each instant, sampled as the
// recorder samples: how often the bounds hold the truth.
struct Drawn {
  std::vector<trace::Interval> times;  // one behind the other
  std::vector<uint32_t> lines;
  std::vector<trace::NameId> calls;  // none: Python
};

struct Held {
  int64_t inside = 0, rows = 0;
};

using LineAndCall = std::pair<uint32_t, bool>;

Held HeldBy(TestTrace* t, trace::TrackId track, const Drawn& drawn, int64_t period,
            std::mt19937_64* engine) {
  for (size_t i = 0; i < drawn.times.size(); ++i) {
    if (drawn.calls[i].valid()) {
      t->Span(track, drawn.times[i].begin_ns, drawn.times[i].end_ns, drawn.calls[i]);
    }
  }
  const trace::Trace& trace = t->Finish();
  const int64_t end = drawn.times.back().end_ns;
  std::vector<ThreadSample> samples;
  std::map<LineAndCall, int64_t> truth;
  size_t at = 0;
  int64_t last = 0;
  const auto next = [&] {
    return period / 4 + static_cast<int64_t>((*engine)() % static_cast<uint64_t>(period * 3 / 2));
  };
  for (size_t i = 0; i < drawn.times.size(); ++i) {
    truth[{drawn.lines[i], drawn.calls[i].valid()}] +=
        drawn.times[i].end_ns - drawn.times[i].begin_ns;
  }
  for (int64_t when = next(); when < end; when += next()) {
    while (drawn.times[at].end_ns <= when) ++at;
    ThreadSample sample;
    sample.at_ns = when;
    sample.covers_ns = when - last;
    sample.line = {LineKind::kOwn, {drawn.lines[at]}};
    samples.push_back(sample);
    last = when;
  }
  const std::vector<Doing> doing = DoingByName(trace);
  const std::vector<trace::Interval> none;
  const ThreadView thread = {trace, track, doing, none, none, {0, end}, {}};
  LineCursor cursor(thread, samples);
  std::map<LineAndCall, Blamed> sums;
  for (int64_t when = 0; when < end;) {
    const LineStretch& stretch = cursor.At(when);
    const int64_t until = std::min(end, stretch.end_ns);
    if (stretch.line.kind == LineKind::kOwn) {
      sums[{stretch.line.text.value, stretch.state.name.valid()}].Add(
          stretch.BlamedFor(when, until));
    }
    when = until;
  }
  Held held;
  for (const auto& [of, blamed] : sums) {
    const LineBounds bounds = LineBoundsOf(blamed, end);
    const int64_t ns = truth[of];
    ++held.rows;
    held.inside += bounds.low_ns <= ns && ns <= bounds.high_ns;
  }
  return held;
}

constexpr int64_t kPeriod = 10'000, kLength = 2'500'000;  // in microseconds

class Program {
 public:
  Program(TestTrace* t, uint64_t seed) : trace_(t), random_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool Goes() const { return at_ < kLength; }
  void Python(int64_t line, int64_t length) { Add(line, length, {}); }
  void Call(int64_t call, int64_t line, int64_t length) {
    Add(line, length,
        trace_->Name("call" + std::to_string(call), trace::Kind::kSpan, trace::Layer::kNative));
  }
  Drawn drawn;

 private:
  void Add(int64_t line, int64_t length, trace::NameId call) {
    const int64_t end = std::min(kLength, at_ + std::max<int64_t>(length, 1));
    if (at_ >= end) return;
    drawn.times.push_back({at_, end});
    drawn.lines.push_back(static_cast<uint32_t>(line));
    drawn.calls.push_back(call);
    at_ = end;
  }
  TestTrace* trace_;
  std::mt19937_64 random_;
  int64_t at_ = 0;
};

using Kind = std::pair<const char*, std::function<void(Program*)>>;
const Kind kKinds[] = {
    {"phases", [](Program* p) { p->Python(p->Below(6), 20'000 + p->Below(600'000)); }},
    {"lines in any order", [](Program* p) { p->Python(p->Below(5), 200 + p->Below(2000)); }},
    {"a loop",
     [](Program* p) {
       for (int64_t line = 0; line < 4; ++line) p->Python(line, 200 * (line + 1) + p->Below(100));
     }},
    {"a long loop",
     [](Program* p) {
       for (int64_t line = 0; line < 4; ++line) p->Python(line, 7000 * (line + 1) + p->Below(900));
     }},
    {"a loop with calls",
     [](Program* p) {
       for (int64_t line = 0; line < 4; ++line) {
         p->Python(2 * line, 300 + p->Below(100 * (line + 1)));
         p->Call(line % 2, 2 * line + 1, 200 + p->Below(400));
       }
     }},
    {"calls in any order",
     [](Program* p) {
       const int64_t call = p->Below(8);
       p->Python(100 + p->Below(3), 100 + p->Below(300));
       p->Call(call, call, 300 + 100 * call);
     }},
    {"one call at many lines",
     [](Program* p) {
       p->Python(100, 50);
       p->Call(0, p->Below(6), 300 + p->Below(3000));
     }},
    {"many calls, each seldom",
     [](Program* p) {
       const int64_t call = p->Below(60);
       p->Python(100 + call % 7, 100 + p->Below(300));
       p->Call(call, call % 9, 300 + 50 * call);
     }},
    {"long calls in any order",
     [](Program* p) {
       const int64_t call = p->Below(5);
       p->Python(100 + p->Below(3), 4000 + p->Below(3000));
       p->Call(call, call, 3000 + 9000 * call);
     }},
};

TEST(LineBounds, HoldTheTruthInNineteenOfTwentyRows) {
  for (const auto& [name, draw] : kKinds) {
    Held held;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      TestTrace t;
      const auto process = t.Process("p", 0, kLength);
      const trace::TrackId track = t.Lead(process);
      t.track(track).base = {trace::Layer::kPython};
      t.track(track).base_at_ns = {0};
      Program program(&t, seed);
      while (program.Goes()) draw(&program);
      std::mt19937_64 engine(seed + 1000);
      const Held one = HeldBy(&t, track, program.drawn, kPeriod, &engine);
      held.inside += one.inside;
      held.rows += one.rows;
    }
    EXPECT_GT(held.rows, 200) << name;
    EXPECT_GE(100 * held.inside, 95 * held.rows)
        << name << ": " << held.inside << " of " << held.rows;
  }
}

// However many samples and steps say the same.
TEST(LineBounds, NoGainIsKnownToBetterThanAPoint) {
  constexpr int kSteps = 400;
  std::string text = "process p window=0.." + std::to_string(1000 * kSteps) +
                     "\nthread main tid=1 main lead base=python\n";
  for (int at = 0; at < 1000 * kSteps; at += 1000) {
    text += "step step " + std::to_string(at) + " " + std::to_string(at + 1000) +
            "\nspan time.sleep " + std::to_string(at) + " " + std::to_string(at + 600) +
            " idle\ninstant [sample] " + std::to_string(at + 300) +
            "\narg covers_ns 600\narg \"Own line\" \"a.py:8 rest\"\n";
  }
  const Table table = testing::Compute(testing::Parse(text), "verdict");
  ASSERT_EQ(table.texts("blame")[0], "a.py:8 rest");
  const double gain = table.reals("gain_share")[0];
  EXPECT_NEAR(gain, 0.6, 1e-6);
  EXPECT_GE(table.reals("gain_high_share")[0] - gain, 0.01 - 1e-6);
  EXPECT_LE(table.reals("gain_high_share")[0] - gain, 0.011);
  EXPECT_LE(table.reals("gain_low_share")[0], gain - 0.01 + 1e-6);
}

// A program of three lines that take turns, 74 %, 19 % and 7 % of its time.
TEST(LineBounds, OfTheLargestPartHoldTheTruthHoweverFewSamplesThereAre) {
  constexpr int kTurns = 10, kTurnNs = 270, kSeeds = 200;
  const std::map<std::string, double> truth = {
      {"a.py:1 fa", 200. / kTurnNs}, {"a.py:2 fb", 50. / kTurnNs}, {"a.py:3 fc", 20. / kTurnNs}};
  for (int count = 1; count <= 5; ++count) {
    int held = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      std::mt19937_64 engine(seed);
      std::vector<int> times(static_cast<size_t>(count));
      for (int& at : times) at = 1 + static_cast<int>(engine() % (kTurns * kTurnNs - 1));
      std::sort(times.begin(), times.end());
      std::string text = "process p window=0.." + std::to_string(kTurns * kTurnNs) +
                         "\nthread main tid=1 main lead base=python\n";
      int last = 0;
      for (const int at : times) {
        const int in_turn = at % kTurnNs;
        text += "instant [sample] " + std::to_string(at) + "\narg covers_ns " +
                std::to_string(at - std::exchange(last, at)) + "\narg \"Own line\" \"" +
                (in_turn < 200   ? "a.py:1 fa"
                 : in_turn < 250 ? "a.py:2 fb"
                                 : "a.py:3 fc") +
                "\"\n";
      }
      const Table table = testing::Compute(testing::Parse(text), "verdict");
      const double share = truth.at(std::string(table.texts("blame")[0]));
      held +=
          table.reals("gain_low_share")[0] <= share && share <= table.reals("gain_high_share")[0];
    }
    EXPECT_GE(held, kSeeds * 95 / 100) << count << " samples";
  }
}

}  // namespace
}  // namespace crosscut::analyze
