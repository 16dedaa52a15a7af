#include "src/analyze/accounting/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Edges;
using testing::InstantAt;
using testing::InstantKey;
using testing::RandomTrace;
using testing::StepAt;
using testing::TestTrace;
using testing::ThreadAt;
using testing::ThreadInstant;
using trace::Kind;
using trace::Layer;

using Measures = std::map<InstantKey, int64_t>;

ProcessOverlap Overlap(const trace::Trace& trace, uint32_t process = 0) {
  const NameCodes names(trace);
  return ComputeOverlap(trace, names, TracksByProcess(trace)[process],
                        ProcessEvents(trace.processes[process]), {process});
}

Measures MeasuresOf(const trace::Trace& trace, const std::vector<Cell>& cells) {
  const NameCodes names(trace);
  Measures out;
  for (const Cell& c : cells) {
    if (c.ns != 0) out[{std::string(trace.text(names.operations[c.operation])), c.layers}] += c.ns;
  }
  return out;
}

// Which part of the window that instant lies in, by the steps that have time in the window.
WindowPart PartAt(const trace::Process& p, int64_t at) {
  bool any = false, before = false, after = false, in_step = false;
  for (const trace::Step& s : p.steps) {
    const int64_t begin = std::max(s.begin_ns, p.start_ns), end = std::min(s.end_ns, p.end_ns);
    if (begin >= end) continue;
    any = true;
    in_step |= begin <= at && at < end;
    before |= end <= at;
    after |= begin > at;
  }
  if (!any) return WindowPart::kWhole;
  if (!before && !in_step) return WindowPart::kStartUp;
  if (!after && !in_step) return WindowPart::kShutdown;
  const auto step = StepAt(p, at);
  if (step->control()) return WindowPart::kControl;
  if (step->left_out()) return WindowPart::kLeftOut;
  return in_step ? WindowPart::kSteps : WindowPart::kBetween;
}

struct BruteForce {
  Measures cells;
  std::map<std::pair<uint32_t, InstantKey>, int64_t> steps;
  std::map<std::pair<WindowPart, InstantKey>, int64_t> parts;
  std::map<std::pair<std::string, InstantKey>, int64_t> found;  // by part of the operation
  int64_t excluded_ns = 0;

  explicit BruteForce(const trace::Trace& trace) {
    const trace::Process& p = trace.processes[0];
    const std::set<int64_t> edges = Edges(trace);
    for (auto at = edges.begin(); std::next(at) != edges.end(); ++at) {
      if (*at >= p.start_ns && *at < p.end_ns) Add(trace, p, *at, *std::next(at) - *at);
    }
  }

  void Add(const trace::Trace& trace, const trace::Process& p, int64_t at, int64_t ns) {
    const std::optional<InstantKey> key = InstantAt(trace, at);
    if (!key) {
      excluded_ns += ns;
      return;
    }
    for (uint32_t s = 0; s < p.steps.size(); ++s) {
      if (p.steps[s].begin_ns <= at && at < p.steps[s].end_ns) steps[{s, *key}] += ns;
    }
    parts[{PartAt(p, at), *key}] += ns;
    found[{testing::PartAt(trace, at), *key}] += ns;
    cells[*key] += ns;
  }
};

TEST(Overlap, EqualsABruteForceOverElementaryIntervalsOnTenThousandTraces) {
  std::set<LayerSet> seen;
  size_t cells = 0, with_parts = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const ProcessOverlap got = Overlap(trace);
    const BruteForce want(trace);
    ASSERT_EQ(MeasuresOf(trace, got.cells), want.cells) << "seed " << seed;
    ASSERT_EQ(got.excluded_ns, want.excluded_ns) << "seed " << seed;
    const trace::Process& p = trace.processes[0];
    ASSERT_EQ(got.window_ns + got.excluded_ns, p.end_ns - p.start_ns) << "seed " << seed;
    const NameCodes names(trace);
    const auto key = [&](uint32_t operation, LayerSet layers) {
      return InstantKey(trace.text(names.operations[operation]), layers);
    };
    std::map<std::pair<uint32_t, InstantKey>, int64_t> steps;
    for (const StepCell& c : got.steps) {
      if (c.ns != 0) steps[{c.step, key(c.operation, c.layers)}] += c.ns;
    }
    ASSERT_EQ(steps, want.steps) << "seed " << seed;
    std::map<std::pair<WindowPart, InstantKey>, int64_t> parts;
    for (const Cell& c : got.cells) {
      if (c.ns != 0) parts[{c.part, key(c.operation, c.layers)}] += c.ns;
    }
    ASSERT_EQ(parts, want.parts) << "seed " << seed;
    std::map<std::pair<std::string, InstantKey>, int64_t> found;
    for (const Cell& c : got.cells) {
      const std::string part(trace.text(names.operations[c.found]));
      if (c.ns != 0) found[{part, key(c.operation, c.layers)}] += c.ns;
    }
    ASSERT_EQ(found, want.found) << "seed " << seed;
    for (const auto& [key, ns] : want.found) with_parts += key.first.empty() ? 0 : 1;
    for (const auto& [key, ns] : want.cells) seen.insert(key.second);
    cells += want.cells.size();
  }
  EXPECT_GT(seen.size(), 150u);  // the traces are rich enough to mean something
  EXPECT_GT(cells, 65000u);
  EXPECT_GT(with_parts, 500u);
}

TEST(Overlap, ThreadTimesEqualABruteForceAndSumToTheThreadsLife) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const trace::Process& p = trace.processes[0];
    const NameCodes names(trace);
    const ProcessEvents events(p);
    for (uint32_t i = 0; i < trace.tracks.size(); ++i) {
      const trace::Track& t = trace.tracks[i];
      if (t.kind != trace::TrackKind::kThread) continue;
      Measures want;
      int64_t life = 0;
      for (int64_t at = std::max(p.start_ns, t.begin_ns); at < std::min(p.end_ns, t.end_ns); ++at) {
        const auto in = [&](const auto& x) { return x.begin_ns <= at && at < x.end_ns; };
        if (std::any_of(p.paused.begin(), p.paused.end(), in)) continue;
        ThreadInstant now = ThreadAt(trace, t, at);
        LayerSet set = now.layer == Layer::kNone ? LayerSet{0} : Bit(now.layer);
        const auto step = StepAt(p, at);
        if (step && step->control()) {
          now.operation = ThreadAt(trace, t, std::max(step->since_ns, t.begin_ns)).operation;
        }
        if (step && (step->control() || (step->left_out() && set != Bit(Layer::kOverhead)))) {
          set = kControlBit;
        }
        ++want[{now.operation, set}];
        ++life;
      }
      const ThreadTime got = ComputeThreadTime(trace, names, events, i);
      ASSERT_EQ(MeasuresOf(trace, got.cells), want) << "seed " << seed << " track " << i;
      ASSERT_EQ(got.life_ns, life);
    }
  }
}

TEST(Overlap, ATraceOfManyTilesSumsToItsWindow) {
  TestTrace t;
  const auto p = t.Process("p", 1'000'000'007, 61'000'000'013);
  const auto lead = t.Lead(p);
  const auto worker = t.Thread(p);
  const auto name = t.Name("op", Kind::kSpan, Layer::kFramework);
  for (int64_t i = 0; i < 50000; ++i) {
    t.Span(lead, 1'000'000'007 + i * 1000, 1'000'000'007 + i * 1000 + 700, name);
    t.Span(worker, 1'000'000'007 + i * 1000 + 500, 1'000'000'007 + i * 1000 + 900, name);
  }
  const trace::Trace& trace = t.Finish();
  const Measures got = MeasuresOf(trace, Overlap(trace).cells);
  EXPECT_EQ(got.at({"", Bit(Layer::kFramework)}), 50000 * 900);
  EXPECT_EQ(got.at({"", 0}), 60'000'000'006 - 50000 * 900);
}

TEST(Overlap, ChildrenThatOutliveTheirParentsAreClipped) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kFramework, {{10, 50}});
  t.Spans(lead, Layer::kRuntime, {{40, 90}});
  const trace::Trace& trace = t.Finish();
  const Measures want = {
      {{"", 0}, 60}, {{"", Bit(Layer::kFramework)}, 30}, {{"", Bit(Layer::kRuntime)}, 10}};
  EXPECT_EQ(MeasuresOf(trace, Overlap(trace).cells), want);
}

TEST(Overlap, WhateverOurOwnWorkCallsIsOurs) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kPython, {{0, 100}});
  t.Spans(lead, Layer::kOverhead, {{10, 50}});
  t.Spans(lead, Layer::kNative, {{20, 30}});
  t.Spans(lead, Layer::kIdle, {{35, 40}});
  const trace::Trace& trace = t.Finish();
  const Measures want = {{{"", Bit(Layer::kPython)}, 60}, {{"", Bit(Layer::kOverhead)}, 40}};
  EXPECT_EQ(MeasuresOf(trace, Overlap(trace).cells), want);
}

TEST(Overlap, EmptyWindowsAndEmptyProcessesHaveNoCells) {
  TestTrace t;
  t.Process("never", 5, 5);
  const trace::Trace& trace = t.Finish();
  const ProcessOverlap got = Overlap(trace);
  EXPECT_TRUE(got.cells.empty());
  EXPECT_EQ(got.window_ns, 0);
}

}  // namespace
}  // namespace crosscut::analyze
