#include "src/analyze/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "src/analyze/gaps.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/timeline/make_timeline.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RandomTrace;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

std::vector<std::string> ColumnNames(const Table& table) {
  std::vector<std::string> names;
  for (const Column& c : table.columns) names.push_back(c.name);
  return names;
}

std::map<std::string, int64_t> SumBy(const Table& t, std::string_view key, std::string_view value) {
  std::map<std::string, int64_t> sums;
  for (size_t i = 0; i < t.rows(); ++i) sums[t.texts(key)[i]] += t.integers(value)[i];
  return sums;
}

TEST(Tables, HaveTheColumnsThatOthersScriptAgainst) {
  const std::map<std::string, std::vector<std::string>> contract = {
      {"overlap", {"process", "operation", "layers", "device", "ns", "corrected_ns"}},
      {"threads", {"process", "thread", "operation", "layer", "ns"}},
      {"device_by_launch", {"process", "launch_operations", "ns"}},
      {"processes",
       {"process", "pid", "parent", "name", "start_ns", "wall_ns", "excluded_ns", "complete",
        "corrected_ns", "corrected_low_ns", "corrected_high_ns"}},
      {"operations",
       {"process", "operation", "count", "wall_ns", "host_ns", "overlap_ns", "device_ns", "idle_ns",
        "unknown_ns", "control_ns", "overhead_ns", "corrected_ns", "run_delay_ns"}},
      {"steps", {"process", "step", "kind", "begin_ns", "end_ns", "control"}},
      {"functions",
       {"layer", "name", "count", "total_ns", "self_ns", "min_ns", "p50_ns", "p99_ns", "max_ns"}},
      {"drops", {"process", "thread", "reason", "count", "begin_ns", "end_ns"}},
      {"overhead", {"probe", "count", "inside_ns", "outside_ns", "total_ns", "low_ns", "high_ns"}},
      {"sources", {"name", "version", "state", "message"}},
      {"clocks", {"clock", "anchors", "error_ns"}}};
  TestTrace random = RandomTrace(7);
  const trace::Trace& trace = random.Finish();
  for (const auto& [name, columns] : contract) {
    const std::vector<std::string> got = ColumnNames(Compute(trace, name));
    for (const std::string& column : columns) {
      EXPECT_THAT(got, ::testing::Contains(column)) << name;
    }
  }
}

TEST(Tables, AllAreRectangularAndNamedAsListed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Context context(trace);
    for (const TableEntry& entry : TableList()) {
      const Table table = entry.Make(trace, context);
      EXPECT_EQ(table.name, entry.name);
      for (const Column& c : table.columns) EXPECT_EQ(c.size(), table.rows()) << entry.name;
    }
  }
}

TEST(Tables, HaveAllThatViewsShow) {
  std::set<std::string_view> names;
  TestTrace random = RandomTrace(11);
  const trace::Trace& trace = random.Finish();
  const Context context(trace);
  for (const TableEntry& entry : TableList()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(FindTable(entry.name), &entry);
    EXPECT_NE(std::string_view(entry.description), "") << entry.name;
    // Long tables and the gaps, which stand above all others, have no section.
    const bool section = !entry.long_one && std::string_view(entry.name) != "gaps";
    EXPECT_EQ(entry.title != nullptr, section) << entry.name;
    EXPECT_EQ(entry.explanation != nullptr, section) << entry.name;
    if (entry.largest_by == nullptr) continue;
    const Table table = entry.Make(trace, context);
    ASSERT_NE(table.Find(entry.largest_by), nullptr) << entry.name;
    EXPECT_TRUE(std::holds_alternative<Integers>(table.Find(entry.largest_by)->cells));
  }
}

TEST(Tables, AnUnknownNameIsRefusedWithTheNearest) {
  const trace::Trace trace;
  const Context context(trace);
  const Result<Table> table = ComputeTable(trace, context, "operatoins");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), Status::Code::kNotFound);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("operations"));
}

TEST(Tables, PartitionsSumToTheWindowsAndLives) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Table processes = Compute(trace, "processes");
    const int64_t wall = processes.integers("wall_ns")[0];
    const trace::Process& p = trace.processes[0];
    ASSERT_EQ(wall + processes.integers("excluded_ns")[0], p.end_ns - p.start_ns);
    for (const char* name : {"overlap", "layers"}) {
      ASSERT_EQ(SumBy(Compute(trace, name), "process", "ns")["p"], wall) << name;
    }
    const Table operations = Compute(trace, "operations");
    ASSERT_EQ(SumBy(operations, "process", "wall_ns")["p"], wall);
    for (size_t i = 0; i < operations.rows(); ++i) {
      int64_t sum = 0;
      for (const char* share :
           {"host_ns", "overlap_ns", "device_ns", "idle_ns", "unknown_ns", "control_ns"}) {
        sum += operations.integers(share)[i];
      }
      ASSERT_EQ(sum, operations.integers("wall_ns")[i]);
    }
    const Table lives = Compute(trace, "thread_lives");
    auto by_thread = SumBy(Compute(trace, "threads"), "thread", "ns");
    for (size_t i = 0; i < lives.rows(); ++i) {
      ASSERT_EQ(by_thread[lives.texts("thread")[i]], lives.integers("life_ns")[i]);
    }
  }
}

TEST(Tables, DeviceByLaunchSumsToTheBusyTime) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    TestTrace random = RandomTrace(seed);
    trace::Trace& trace = random.Finish();
    trace.processes[0].steps.clear();  // control steps hide the device in the overlap
    int64_t busy = 0;
    const Table overlap = Compute(trace, "overlap");
    for (size_t i = 0; i < overlap.rows(); ++i) {
      if (overlap.integers("device")[i] != 0) busy += overlap.integers("ns")[i];
    }
    const Table launches = Compute(trace, "device_by_launch");
    const Integers& ns = launches.integers("ns");
    ASSERT_EQ(std::accumulate(ns.begin(), ns.end(), int64_t{0}), busy) << seed;
  }
}

TEST(Tables, DeviceTimeBelongsToTheOperationThatLaunchedIt) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Operation(lead, "infer", 0, 20);
  t.Operation(lead, "step", 20, 100);
  t.Spans(lead, Layer::kRuntime, {{10, 12}, {30, 32}});
  const auto a = t.DeviceSpans(p, {{15, 40}, {90, 95}});
  const auto b = t.DeviceSpans(p, {{35, 50}});
  trace::Trace& trace = t.Finish();
  // Spans of the lead in order: infer, its launch, step, its launch.
  trace.flows.push_back({1, lead, a, 1, 0, 10, 15});
  trace.flows.push_back({2, lead, b, 3, 0, 30, 35});
  const Table got = Compute(trace, "device_by_launch");
  const std::map<std::string, int64_t> want = {
      {"infer", 20}, {"infer+step", 5}, {"step", 10}, {"(unlinked)", 5}};
  EXPECT_EQ(SumBy(got, "launch_operations", "ns"), want);
}

// Autograd's thread launches the backward pass while the lead waits in it.
TEST(Tables, AThreadWithoutOperationsLaunchesForWhatTheLeadIsIn) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p), autograd = t.Thread(p), loader = t.Thread(p);
  t.Operation(lead, "backward", 10, 50);
  t.Spans(autograd, Layer::kRuntime, {{5, 7}, {20, 22}});
  t.Operation(loader, "load", 0, 100);
  t.Spans(loader, Layer::kRuntime, {{25, 27}});
  const auto a = t.DeviceSpans(p, {{10, 20}, {30, 37}});
  const auto b = t.DeviceSpans(p, {{40, 45}});
  trace::Trace& trace = t.Finish();
  trace.flows.push_back({1, autograd, a, 0, 0, 5, 10});
  trace.flows.push_back({2, autograd, a, 1, 1, 20, 30});
  trace.flows.push_back({3, loader, b, 1, 0, 25, 40});
  const std::map<std::string, int64_t> want = {{"(none)", 10}, {"backward", 7}, {"load", 5}};
  EXPECT_EQ(SumBy(Compute(trace, "device_by_launch"), "launch_operations", "ns"), want);
}

TEST(Tables, FunctionsHaveSelfTimeAndPercentilesThatOccurred) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  const auto lead = t.Lead(p);
  const auto outer = t.Name("outer", Kind::kSpan, Layer::kPython);
  const auto inner = t.Name("inner", Kind::kSpan, Layer::kFramework);
  t.Span(lead, 0, 600, outer);
  t.Operation(lead, "op", 0, 550);  // is no function: its spans count against outer
  for (int64_t i = 1; i <= 100; ++i) t.Span(lead, i * 5, i * 5 + (i == 100 ? 5 : i % 4 + 1), inner);
  const Table got = Compute(t.Finish(), "functions");
  ASSERT_EQ(got.rows(), 2u);
  EXPECT_THAT(got.texts("name"), ElementsAre("outer", "inner"));
  EXPECT_THAT(got.texts("layer"), ElementsAre("python", "framework"));
  EXPECT_THAT(got.integers("count"), ElementsAre(1, 100));
  const int64_t total = 25 * 4 + 25 * 3 + 25 * 2 + 24 + 5;
  EXPECT_THAT(got.integers("total_ns"), ElementsAre(600, total));
  EXPECT_THAT(got.integers("self_ns"), ElementsAre(600 - total, total));
  EXPECT_THAT(got.integers("min_ns"), ElementsAre(600, 1));
  EXPECT_THAT(got.integers("p50_ns"), ElementsAre(600, 3));
  EXPECT_THAT(got.integers("p99_ns"), ElementsAre(600, 4));
  EXPECT_THAT(got.integers("max_ns"), ElementsAre(600, 5));
}

TEST(Tables, SelfTimesAndUnspannedTimeSumToTheThreadsLife) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Table functions = Compute(trace, "functions");
    int64_t spanned = 0;
    for (const trace::Track& track : trace.tracks) {
      for (size_t i = 0; i < track.spans.size(); ++i) {
        bool covered = trace.name(track.spans.name[i]).kind != Kind::kSpan;
        for (auto s = track.spans.parent[i]; s != trace::kNoSpan; s = track.spans.parent[s]) {
          covered |= trace.name(track.spans.name[s]).kind == Kind::kSpan;
        }
        if (!covered) spanned += track.spans.end_ns[i] - track.spans.begin_ns[i];
      }
    }
    const Integers& self = functions.integers("self_ns");
    ASSERT_EQ(std::accumulate(self.begin(), self.end(), int64_t{0}), spanned);
  }
}

TEST(Tables, ControlStepsStandInTheirOwnCellWhateverHappensInThem) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Operation(lead, "epoch", 10, 90);
  t.Operation(lead, "forward", 45, 60);
  t.DeviceSpans(p, {{40, 70}});
  t.Step(p, 20, 40, 3);
  t.Step(p, 40, 60, 0);
  t.Step(p, 60, 80, 0);
  const trace::Trace& trace = t.Finish();
  const Table operations = Compute(trace, "operations");
  const auto control = SumBy(operations, "operation", "control_ns");
  EXPECT_EQ(control.at("epoch"), 40 + 20) << "the probes are off until the end";
  EXPECT_EQ(control.at(""), 0);
  EXPECT_EQ(SumBy(operations, "operation", "count").at("forward"), 1);
  const Table steps = Compute(trace, "steps");
  EXPECT_THAT(steps.integers("control"), ElementsAre(0, 1, 1));
  EXPECT_THAT(steps.integers("wall_ns"), ElementsAre(20, 20, 20));
  EXPECT_THAT(steps.integers("control_ns"), ElementsAre(0, 20, 20));
}

TEST(Tables, WhatFollowsAControlStepUntilTheNextIsControlAndNoStep) {
  TestTrace t;
  const auto p = t.Process("p", 0, 200);
  const auto lead = t.Lead(p);
  t.Operation(lead, "wait", 30, 70);
  t.Step(p, 10, 20, 3);
  t.Step(p, 20, 40, 0);
  t.Step(p, 60, 80, 3);
  t.Step(p, 80, 90, 0);
  t.process(p).windows = {{1, 0, 120}, {2, 150, 200}};  // the second session records again
  const trace::Trace& trace = t.Finish();
  const auto control = SumBy(Compute(trace, "operations"), "operation", "control_ns");
  EXPECT_EQ(control.at("wait"), 20) << "from 40 to 60";
  EXPECT_EQ(control.at(""), 20 + 10 + 30) << "the steps, and from 90 to 120";
  const Table steps = Compute(trace, "steps");
  EXPECT_THAT(steps.integers("wall_ns"), ElementsAre(10, 20, 20, 10));
  EXPECT_THAT(steps.integers("control_ns"), ElementsAre(0, 20, 0, 10));
}

TEST(Tables, ASlowStepIsAnOutlierAndItsLayerIsNamed) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000);
  const auto lead = t.Lead(p);
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t at = i * 10000, length = i == 17 ? 9000 : 1000 + i % 5;
    t.Step(p, at, at + length, 3);
    t.Spans(lead, Layer::kFramework, {{at, at + 500}});
    t.Spans(lead, Layer::kData, {{at + 500, at + length}});
  }
  const Table got = Compute(t.Finish(), "outliers");
  ASSERT_EQ(got.rows(), 1u);
  EXPECT_EQ(got.integers("step")[0], 17);
  EXPECT_EQ(got.texts("layers")[0], "data");
  EXPECT_EQ(got.integers("wall_ns")[0], 9000);
  EXPECT_NEAR(static_cast<double>(got.integers("grew_ns")[0]), 8000, 10);
}

// The limit is the median and five times how far the median step is from it, or a tenth of it.
TEST(Tables, AStepExactlyAtTheLimitIsNoOutlier) {
  for (const auto& [apart, limit] : {std::pair{0, 1100}, {10, 1100}, {40, 1200}}) {
    TestTrace t;
    const auto p = t.Process("p", 0, 1'000'000);
    t.Spans(t.Lead(p), Layer::kFramework, {{10, 20}});
    for (int64_t i = 0; i < 41; ++i) {
      const int64_t length = i == 20 ? limit : i == 30 ? limit + 1 : 1000 + apart * (i % 3 - 1);
      t.Step(p, i * 10000, i * 10000 + length, 3);
    }
    const Table got = Compute(t.Finish(), "outliers");
    EXPECT_THAT(got.integers("step"), ElementsAre(30)) << apart;
    EXPECT_THAT(got.integers("wall_ns"), ElementsAre(limit + 1)) << apart;
    EXPECT_THAT(got.integers("median_ns"), ElementsAre(1000)) << apart;
  }
}

// Of steps that are not profiled the length is known.
TEST(Tables, ASlowStepIsAnOutlierAtEveryLevel) {
  for (const uint8_t level : {trace::kControlLevel, trace::kMarksLevel}) {
    TestTrace t;
    const auto p = t.Process("p", 0, 1'000'000);
    t.Spans(t.Lead(p), Layer::kFramework, {{10, 20}});
    for (int64_t i = 0; i < 60; ++i) {
      const int64_t at = i * 10000, length = i == 17 ? 9000 : 1000 + i % 5;
      t.Step(p, at, at + length, i < 30 ? level : 1);
    }
    const Table got = Compute(t.Finish(), "outliers");
    ASSERT_EQ(got.rows(), 1u) << int{level};
    EXPECT_EQ(got.integers("step")[0], 17);
    EXPECT_EQ(got.texts("layers")[0], "control");
    EXPECT_EQ(got.integers("wall_ns")[0], 9000);
  }
}

// Whatever the program does behind a loop whose last step was left out.
TEST(Tables, WhatFollowsALastStepWithoutProbesIsToldAsAGap) {
  const auto gaps = [](uint8_t level, int64_t end) {
    TestTrace t;
    const auto p = t.Process("p", 0, end);
    t.Spans(t.Lead(p), Layer::kFramework, {{10, 20}});
    t.Step(p, 0, 1'000'000'000, 3);
    t.Step(p, 1'000'000'000, 2'000'000'000, level);
    const trace::Trace& trace = t.Finish();
    return Gaps(trace, Context(trace));
  };
  EXPECT_THAT(gaps(trace::kMarksLevel, 7'000'000'000),
              ElementsAre("5.000 s of p after its last step are not known by layer: the budget "
                          "left out that step, and all but marks stays off until the next one."));
  EXPECT_THAT(gaps(trace::kControlLevel, 7'000'000'000),
              ElementsAre("5.000 s of p after its last step are not known by layer: that was a "
                          "control step, and all probes stay off until the next one."));
  EXPECT_THAT(gaps(trace::kMarksLevel, 2'000'001'000), ::testing::IsEmpty());
  EXPECT_THAT(gaps(3, 7'000'000'000), ::testing::IsEmpty());
}

// A run whose last step nobody ended, with a control step that took long.
TestTrace LongEnd() {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000'000);
  t.Spans(t.Lead(p), Layer::kFramework, {{10, 20}, {30, 40}});
  for (int64_t i = 0; i < 40; ++i) {
    t.Step(p, i * 10'000, i * 10'000 + (i == 17 ? 9000 : 1000 + i % 5), i % 2 == 0 ? 1 : 3);
  }
  t.Step(p, 500'000, 600'000, 0);
  t.Step(p, 600'000, 650'000, 3, true);
  t.Step(p, 700'000, 900'000'000, 3);
  t.process(p).steps.back().open = true;
  return t;
}

TEST(Tables, NoStepButTheSlowestIsCalledSo) {
  TestTrace t = LongEnd();
  const trace::Trace& trace = t.Finish();
  const Table summary = Compute(trace, "step_summary");
  ASSERT_EQ(summary.rows(), 1u);
  EXPECT_EQ(summary.integers("slowest_step")[0], 17);
  EXPECT_EQ(summary.integers("max_ns")[0], 9000);
  EXPECT_EQ(summary.integers("steps")[0], 42);
  EXPECT_EQ(summary.integers("control_steps")[0], 1);
  const Table parts = Compute(trace, "window_parts");
  for (size_t row = 0; row < parts.rows(); ++row) {
    if (parts.texts("part")[row] != "steps") continue;
    EXPECT_EQ(parts.integers("count")[row], 42);
  }
  const Table outliers = Compute(trace, "outliers");
  ASSERT_EQ(outliers.rows(), 1u);
  EXPECT_EQ(outliers.integers("step")[0], summary.integers("slowest_step")[0]);
  EXPECT_EQ(outliers.integers("wall_ns")[0], summary.integers("max_ns")[0]);
  const Context context(trace);
  TimelineOptions options;
  options.max_detail_spans = 0;
  const Timeline timeline = MakeTimeline(trace, context, options);
  std::vector<std::string> titles;
  for (const TimelineDetail& detail : timeline.details) titles.push_back(detail.title);
  EXPECT_THAT(titles, ::testing::Contains("step 17, slowest"));
  EXPECT_THAT(Compute(trace, "steps").integers("open"), ::testing::Contains(1).Times(1));
}

TEST(Tables, LabelsAreUniqueWithinTheirProcess) {
  TestTrace t;
  const auto p = t.Process("same", 0, 10), q = t.Process("same", 0, 10);
  for (const char* name : {"worker", "worker", "worker #2", ""}) t.Thread(p, name);
  t.Thread(q, "worker");
  const Table lives = Compute(t.Finish(), "thread_lives");
  std::set<std::pair<std::string, std::string>> labels;
  for (size_t i = 0; i < lives.rows(); ++i) {
    labels.insert({lives.texts("process")[i], lives.texts("thread")[i]});
  }
  EXPECT_EQ(labels.size(), 5u);
}

// As many passes as there are changes, not as there are ns: of three months it would not end.
TEST(Tables, DeviceByLaunchGoesFromChangeToChange) {
  constexpr int64_t kMonth = 2'600'000'000'000'000;
  TestTrace t;
  const auto p = t.Process("p", 0, 3 * kMonth);
  t.Operation(t.Lead(p), "infer", 0, kMonth);
  t.DeviceSpans(p, {{kMonth, 2 * kMonth}});
  const std::map<std::string, int64_t> want = {{"(unlinked)", kMonth}};
  EXPECT_EQ(SumBy(Compute(t.Finish(), "device_by_launch"), "launch_operations", "ns"), want);
}

TEST(Tables, WhatIsOfNoProcessHasNoLabel) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const trace::Trace& trace = t.Finish();
  const Context context(trace);
  EXPECT_EQ(context.process_label(p), "p");
  EXPECT_EQ(context.process_label({p.value + 1}), "");
  EXPECT_EQ(context.process_label({}), "");
}

}  // namespace
}  // namespace crosscut::analyze
