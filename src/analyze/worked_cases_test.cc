// Worked cases T1 to T10 of docs/accounting.md, each category fed as a track of its own.
#include <gtest/gtest.h>

#include <map>

#include "src/analyze/accounting/overlap.h"
#include "src/analyze/processes/concurrency.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::TestTrace;
using trace::Kind;
using trace::Layer;

constexpr LayerSet kPy = Bit(Layer::kPython), kBack = Bit(Layer::kFramework),
                   kCuda = Bit(Layer::kRuntime), kSim = Bit(Layer::kSimulator),
                   kOurs = Bit(Layer::kOverhead), kGpu = kDeviceBit;
using Key = std::pair<std::string, LayerSet>;
using Measures = std::map<Key, int64_t>;

std::vector<Cell> CellsOf(const trace::Trace& trace, uint32_t process = 0) {
  const NameCodes names(trace);
  return ComputeOverlap(trace, names, TracksByProcess(trace)[process],
                        ProcessEvents(trace.processes[process]), {process})
      .cells;
}

Measures Of(const trace::Trace& trace, uint32_t process = 0) {
  const NameCodes names(trace);
  Measures out;
  for (const Cell& c : CellsOf(trace, process)) {
    out[{std::string(trace.text(names.operations[c.operation])), c.layers}] += c.ns;
  }
  return out;
}

TEST(WorkedCases, T1ThreeCategories) {
  TestTrace t;
  const auto p = t.Process("p", 0, 12);
  t.Category(p, Layer::kPython, {{3, 7}, {8, 10}});
  t.Category(p, Layer::kFramework, {{1, 4}, {6, 9}});
  t.Category(p, Layer::kRuntime, {{2, 5}, {7, 8}, {11, 12}});
  const Measures want = {{{"", 0}, 2},
                         {{"", kPy}, 2},
                         {{"", kBack}, 1},
                         {{"", kCuda}, 1},
                         {{"", kPy | kBack}, 2},
                         {{"", kPy | kCuda}, 1},
                         {{"", kBack | kCuda}, 2},
                         {{"", kPy | kBack | kCuda}, 1}};
  EXPECT_EQ(Of(t.Finish()), want);
}

void OperationsOfT2(TestTrace& t, trace::TrackId lead) {
  t.Operation(lead, "training_loop", 0, 1000);
  t.Operation(lead, "inference", 100, 400);
  t.Operation(lead, "backprop", 500, 900);
}

TEST(WorkedCases, T2NestedOperationsAndAnAsynchronousDevice) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  OperationsOfT2(t, t.Lead(p));
  t.Category(p, Layer::kPython, {{0, 120}, {200, 260}, {380, 520}, {880, 1000}});
  t.Category(p, Layer::kFramework, {{120, 200}, {260, 380}, {520, 880}});
  t.Category(p, Layer::kRuntime, {{150, 170}, {300, 320}, {560, 600}, {700, 760}});
  t.DeviceSpans(p, {{165, 230}, {315, 450}, {590, 820}});
  const trace::Trace& trace = t.Finish();
  const Measures want = {{{"training_loop", kPy}, 250},
                         {{"training_loop", kPy | kGpu}, 50},
                         {{"inference", kPy}, 50},
                         {{"inference", kPy | kGpu}, 50},
                         {{"inference", kBack}, 70},
                         {{"inference", kBack | kGpu}, 90},
                         {{"inference", kBack | kCuda}, 30},
                         {{"inference", kBack | kCuda | kGpu}, 10},
                         {{"backprop", kPy}, 40},
                         {{"backprop", kBack}, 100},
                         {{"backprop", kBack | kGpu}, 160},
                         {{"backprop", kBack | kCuda}, 30},
                         {{"backprop", kBack | kCuda | kGpu}, 70}};
  EXPECT_EQ(Of(trace), want);
  int64_t host = 0, overlap = 0;
  for (const Cell& c : CellsOf(trace)) {
    (ShareOf(c.layers) == Share::kHost ? host : overlap) += c.ns;
  }
  EXPECT_EQ(host, 570);
  EXPECT_EQ(overlap, 430);
  EXPECT_EQ(Inclusive(CellsOf(trace), kGpu), 430);
}

TEST(WorkedCases, T2AsNestedSpansOfOneThreadReadsTheInnermostLayer) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  const auto lead = t.Lead(p);
  t.track(lead).base_at_ns = {0};
  t.track(lead).base = {Layer::kPython};
  OperationsOfT2(t, lead);
  t.Spans(lead, Layer::kFramework, {{120, 200}, {260, 380}, {520, 880}});
  t.Spans(lead, Layer::kRuntime, {{150, 170}, {300, 320}, {560, 600}, {700, 760}});
  t.DeviceSpans(p, {{165, 230}, {315, 450}, {590, 820}});
  const Measures want = {{{"training_loop", kPy}, 250},     {{"training_loop", kPy | kGpu}, 50},
                         {{"inference", kPy}, 50},          {{"inference", kPy | kGpu}, 50},
                         {{"inference", kBack}, 70},        {{"inference", kBack | kGpu}, 90},
                         {{"inference", kCuda}, 30},        {{"inference", kCuda | kGpu}, 10},
                         {{"backprop", kPy}, 40},           {{"backprop", kBack}, 100},
                         {{"backprop", kBack | kGpu}, 160}, {{"backprop", kCuda}, 30},
                         {{"backprop", kCuda | kGpu}, 70}};
  EXPECT_EQ(Of(t.Finish()), want);
}

TEST(WorkedCases, T3TiesGapsAndUncoveredTimeStandInRowsOfTheirOwn) {
  TestTrace t;
  const auto p = t.Process("p", 0, 90);
  const auto lead = t.Lead(p);
  t.Operation(lead, "A", 0, 50);
  t.Operation(lead, "B", 0, 20);
  t.Operation(lead, "C", 5, 20);
  t.Operation(lead, "B", 30, 50);
  t.Operation(lead, "D", 60, 80);
  t.Category(p, Layer::kPython, {{0, 10}, {20, 35}, {55, 70}});
  t.Category(p, Layer::kSimulator, {{10, 20}, {35, 45}});
  t.DeviceSpans(p, {{12, 14}, {18, 33}, {65, 90}});
  const Measures want = {{{"B", kPy}, 7},
                         {{"B", kPy | kGpu}, 3},
                         {{"B", kSim}, 10},
                         {{"C", kPy}, 5},
                         {{"C", kSim}, 6},
                         {{"C", kSim | kGpu}, 4},
                         {{"A", kPy | kGpu}, 10},
                         {{"D", kPy}, 5},
                         {{"D", kPy | kGpu}, 5},
                         {{"D", kGpu}, 10},
                         // What RL-Scope drops: an operation with no category, and the reverse.
                         {{"B", 0}, 5},
                         {{"", kPy}, 5},
                         {{"", kGpu}, 10},
                         {{"", 0}, 5}};
  EXPECT_EQ(Of(t.Finish()), want);
}

std::map<size_t, int64_t> ByDeviceCount(const std::vector<ConcurrencyCell>& cells) {
  std::map<size_t, int64_t> out;
  for (const ConcurrencyCell& c : cells) out[c.device.size()] += c.ns;
  return out;
}

TEST(WorkedCases, T4ThreeProcessesShareADevice) {
  TestTrace t;
  const auto p0 = t.Process("P0", 0, 100), p1 = t.Process("P1", 0, 100),
             p2 = t.Process("P2", 0, 100);
  t.Category(p0, Layer::kPython, {{0, 40}, {70, 100}});
  t.Category(p0, Layer::kFramework, {{40, 70}});
  t.DeviceSpans(p0, {{50, 80}});
  t.Category(p1, Layer::kPython, {{10, 20}, {60, 65}});
  t.Category(p1, Layer::kFramework, {{20, 60}});
  t.DeviceSpans(p1, {{30, 55}, {58, 62}});
  t.Category(p2, Layer::kSimulator, {{5, 90}});
  t.DeviceSpans(p2, {{75, 95}});
  const trace::Trace& trace = t.Finish();
  const int64_t want[3][3] = {{70, 30, 0}, {26, 29, 0}, {70, 15, 5}};
  for (uint32_t p = 0; p < 3; ++p) {
    int64_t shares[kShareCount] = {};
    for (const Cell& c : CellsOf(trace, p)) shares[static_cast<int>(ShareOf(c.layers))] += c.ns;
    EXPECT_EQ(shares[static_cast<int>(Share::kHost)], want[p][0]);
    EXPECT_EQ(shares[static_cast<int>(Share::kOverlap)], want[p][1]);
    EXPECT_EQ(shares[static_cast<int>(Share::kDevice)], want[p][2]);
  }
  const auto cells = ComputeConcurrency(trace, NameCodes(trace)).cells;
  EXPECT_EQ(cells.size(), 10u);  // sets of processes alone; 15 regions where layers count too
  EXPECT_EQ(ByDeviceCount(cells), (std::map<size_t, int64_t>{{0, 35}, {1, 51}, {2, 14}}));
  std::map<size_t, int64_t> by_host;
  int64_t host_only = 0, both = 0;
  for (const ConcurrencyCell& c : cells) {
    by_host[c.host.size()] += c.ns;
    (c.device.empty() ? host_only : both) += c.ns;
  }
  EXPECT_EQ(by_host, (std::map<size_t, int64_t>{{1, 15}, {2, 30}, {3, 55}}));
  EXPECT_EQ(host_only, 35);
  EXPECT_EQ(both, 65);
}

// Overhead in intervals: host time under it is ours; a device that runs meanwhile stays.
TEST(WorkedCases, T5OverheadIntervalsLeaveTheCorrectedTimes) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  t.Operation(t.Lead(p), "step", 0, 1000);
  t.Category(p, Layer::kPython, {{0, 100}, {400, 500}, {900, 1000}});
  t.Category(p, Layer::kFramework, {{100, 400}, {500, 900}});
  t.Category(p, Layer::kRuntime, {{150, 200}, {600, 680}});
  t.DeviceSpans(p, {{190, 450}, {650, 880}});
  t.Category(p, Layer::kOverhead,
             {{0, 10}, {150, 165}, {200, 205}, {400, 420}, {600, 615}, {680, 685}, {900, 920}});
  const trace::Trace& trace = t.Finish();
  std::map<LayerSet, int64_t> corrected;
  int64_t uncorrected[2] = {}, total = 0;
  for (const Cell& c : CellsOf(trace)) {
    uncorrected[(c.layers & kGpu) ? 1 : 0] += c.ns;
    const LayerSet left = (c.layers & kOurs) ? c.layers & kGpu : c.layers;
    if (left != 0) corrected[left] += c.ns, total += c.ns;
  }
  EXPECT_EQ(uncorrected[0], 510);
  EXPECT_EQ(uncorrected[1], 490);
  EXPECT_EQ(total, 940);
  const std::map<LayerSet, int64_t> want = {
      {kPy, 220},          {kPy | kGpu, 30},           {kBack, 170}, {kBack | kGpu, 390},
      {kBack | kCuda, 60}, {kBack | kCuda | kGpu, 40}, {kGpu, 30}};
  EXPECT_EQ(corrected, want);
}

int64_t DeviceTime(testing::Pairs a, testing::Pairs b) {
  TestTrace t;
  const auto p = t.Process("p", 0, 20);
  t.DeviceSpans(p, a);
  t.DeviceSpans(p, b);
  return Inclusive(CellsOf(t.Finish()), kGpu);
}

TEST(WorkedCases, T6SelfOverlapInsideACategoryIsAUnion) {
  EXPECT_EQ(DeviceTime({{0, 10}}, {{5, 15}}), 15);
  EXPECT_EQ(DeviceTime({{0, 10}}, {{2, 4}}), 10);
  EXPECT_EQ(DeviceTime({{0, 10}}, {{0, 10}}), 10);
  TestTrace t;
  const auto p = t.Process("p", 0, 10);
  for (const auto& span : {std::pair{1, 6}, {2, 6}, {3, 7}, {4, 6}}) {
    t.Category(p, Layer::kPython, {span});
  }
  t.Category(p, Layer::kFramework, {{4, 5}});
  const Measures want = {{{"", 0}, 4}, {{"", kPy}, 5}, {{"", kPy | kBack}, 1}};
  EXPECT_EQ(Of(t.Finish()), want);
}

TEST(WorkedCases, T6AHostSpanOverThreeDeviceStreams) {
  TestTrace t;
  const auto p = t.Process("p", 0, 20);
  t.Category(p, Layer::kPython, {{0, 20}});
  t.DeviceSpans(p, {{2, 12}});
  t.DeviceSpans(p, {{4, 6}});
  t.DeviceSpans(p, {{10, 18}});
  const Measures want = {{{"", kPy}, 4}, {{"", kPy | kGpu}, 16}};
  EXPECT_EQ(Of(t.Finish()), want);
}

TEST(WorkedCases, T7ABackwardThreadWorksForTheMainThread) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  t.Operation(t.Lead(p), "train", 0, 100);
  t.Category(p, Layer::kPython, {{0, 30}, {90, 100}});
  t.Category(p, Layer::kFramework, {{30, 90}});
  t.Category(p, Layer::kFramework, {{35, 85}});
  t.Category(p, Layer::kRuntime, {{40, 50}, {60, 70}});
  t.DeviceSpans(p, {{45, 80}});
  const Measures want = {{{"train", kPy}, 40},
                         {{"train", kBack}, 20},
                         {{"train", kBack | kCuda}, 5},
                         {{"train", kBack | kCuda | kGpu}, 15},
                         {{"train", kBack | kGpu}, 20}};
  EXPECT_EQ(Of(t.Finish()), want);
}

TEST(WorkedCases, T7AsRecordedTheWaitingLeadContributesNothingWhileTheOtherThreadWorks) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.track(lead).base_at_ns = {0};
  t.track(lead).base = {Layer::kPython};
  t.Operation(lead, "train", 0, 100);
  t.Span(lead, 30, 90, t.Name("run_backward", Kind::kSpan, Layer::kFramework, true));
  const auto engine = t.Thread(p);
  t.Spans(engine, Layer::kFramework, {{35, 85}});
  t.Spans(engine, Layer::kRuntime, {{40, 50}, {60, 70}});
  t.DeviceSpans(p, {{45, 80}});
  const Measures want = {{{"train", kPy}, 40},
                         {{"train", kBack}, 20},
                         {{"train", kCuda}, 5},
                         {{"train", kCuda | kGpu}, 15},
                         {{"train", kBack | kGpu}, 20}};
  EXPECT_EQ(Of(t.Finish()), want);
}

TEST(WorkedCases, TheExampleOfTheAccountingPage) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.track(lead).base_at_ns = {0};
  t.track(lead).base = {Layer::kPython};
  t.Operation(lead, "forward", 0, 60);
  t.Operation(lead, "backward", 60, 100);
  t.Spans(lead, Layer::kFramework, {{20, 50}});
  t.Span(lead, 65, 95, t.Name("wait", Kind::kSpan, Layer::kFramework, true));
  const auto engine = t.Thread(p);
  t.Spans(engine, Layer::kFramework, {{70, 90}});
  t.DeviceSpans(p, {{30, 80}});
  const Measures want = {{{"forward", kPy}, 20},          {{"forward", kBack}, 10},
                         {{"forward", kBack | kGpu}, 20}, {{"forward", kPy | kGpu}, 10},
                         {{"backward", kPy | kGpu}, 5},   {{"backward", kBack | kGpu}, 15},
                         {{"backward", kBack}, 15},       {{"backward", kPy}, 5}};
  EXPECT_EQ(Of(t.Finish()), want);
}

void LearnerOfT8(TestTrace& t) {
  const auto p = t.Process("learner", 0, 200);
  const auto lead = t.Lead(p);
  t.Operation(lead, "train", 0, 200);
  t.Operation(lead, "sync", 150, 180);
  t.Category(p, Layer::kPython, {{0, 20}, {150, 160}, {180, 200}});
  t.Category(p, Layer::kFramework, {{20, 150}, {160, 180}});
  t.DeviceSpans(p, {{40, 140}, {165, 175}});
}

void ActorsOfT8(TestTrace& t) {
  const auto p0 = t.Process("actor0", 10, 190);
  const auto lead0 = t.Lead(p0);
  t.Operation(lead0, "rollout", 10, 190);
  t.Operation(lead0, "step", 20, 60);
  t.Operation(lead0, "infer", 60, 80);
  t.Operation(lead0, "step", 80, 170);
  t.Category(p0, Layer::kPython, {{10, 25}, {58, 62}, {78, 84}, {165, 190}});
  t.Category(p0, Layer::kSimulator, {{25, 58}, {84, 165}});
  t.Category(p0, Layer::kFramework, {{62, 78}});
  t.DeviceSpans(p0, {{66, 72}});
  const auto p1 = t.Process("actor1", 0, 180);
  const auto lead1 = t.Lead(p1);
  t.Operation(lead1, "rollout", 0, 180);
  t.Operation(lead1, "step", 30, 110);
  t.Operation(lead1, "infer", 110, 140);
  t.Category(p1, Layer::kPython, {{0, 32}, {108, 112}, {138, 180}});
  t.Category(p1, Layer::kSimulator, {{32, 108}});
  t.Category(p1, Layer::kFramework, {{112, 138}});
  t.DeviceSpans(p1, {{118, 150}});
}

TEST(WorkedCases, T8ALearnerAndTwoActors) {
  TestTrace t;
  LearnerOfT8(t);
  ActorsOfT8(t);
  const trace::Trace& trace = t.Finish();
  const Measures learner = {{{"train", kPy}, 40},           {{"train", kBack}, 30},
                            {{"train", kBack | kGpu}, 100}, {{"sync", kPy}, 10},
                            {{"sync", kBack}, 10},          {{"sync", kBack | kGpu}, 10}};
  const Measures actor0 = {{{"rollout", kPy}, 30}, {{"step", kPy}, 16},
                           {{"step", kSim}, 114},  {{"infer", kPy}, 4},
                           {{"infer", kBack}, 10}, {{"infer", kBack | kGpu}, 6}};
  const Measures actor1 = {{{"rollout", kPy}, 60}, {{"rollout", kPy | kGpu}, 10},
                           {{"step", kPy}, 4},     {{"step", kSim}, 76},
                           {{"infer", kPy}, 2},    {{"infer", kPy | kGpu}, 2},
                           {{"infer", kBack}, 6},  {{"infer", kBack | kGpu}, 20}};
  EXPECT_EQ(Of(trace, 0), learner);
  EXPECT_EQ(Of(trace, 1), actor0);
  EXPECT_EQ(Of(trace, 2), actor1);
  EXPECT_EQ(ByDeviceCount(ComputeConcurrency(trace, NameCodes(trace)).cells),
            (std::map<size_t, int64_t>{{0, 80}, {1, 92}, {2, 28}}));
}

TEST(WorkedCases, T9AThousandShortKernelsAreOnePercentBusy) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000'000);
  const auto device = t.Device(p);
  const auto kernel = t.Name("kernel", Kind::kSpan, Layer::kDevice);
  for (int64_t i = 0; i < 1000; ++i) t.Span(device, i * 1'000'000, i * 1'000'000 + 10'000, kernel);
  EXPECT_EQ(Inclusive(CellsOf(t.Finish()), kGpu), 10'000'000);
}

TEST(WorkedCases, T10VennSizesAreInclusiveAndComplete) {
  const std::vector<Cell> all = {{0, kPy, 3, 0},
                                 {0, kBack, 3, 0},
                                 {0, kSim, 3, 0},
                                 {0, kPy | kBack, 1, 0},
                                 {0, kPy | kSim, 1, 0},
                                 {0, kBack | kSim, 1, 0},
                                 {0, kPy | kBack | kSim, 1, 0}};
  for (const LayerSet one : {kPy, kBack, kSim}) EXPECT_EQ(Inclusive(all, one), 6);
  for (const int two : {kPy | kBack, kPy | kSim, kBack | kSim}) {
    EXPECT_EQ(Inclusive(all, static_cast<LayerSet>(two)), 2);
  }
  EXPECT_EQ(Inclusive(all, kPy | kBack | kSim), 1);
  const std::vector<Cell> few = {{0, kPy, 2, 0}, {0, kPy | kBack | kSim, 5, 0}};
  EXPECT_EQ(Inclusive(few, kPy), 7);
  EXPECT_EQ(Inclusive(few, kBack), 5);
  EXPECT_EQ(Inclusive(few, kPy | kBack), 5);  // the pair that RL-Scope leaves out
}

}  // namespace
}  // namespace crosscut::analyze
