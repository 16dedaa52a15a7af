#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/timeline/make_timeline.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using testing::RandomTrace;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

Timeline Make(const trace::Trace& trace, const TimelineOptions& options = {}) {
  const Context context(trace);
  return MakeTimeline(trace, context, options);
}

size_t Tiles(const Timeline& timeline) {
  size_t n = 0;
  for (const auto& p : timeline.processes) {
    for (const auto& t : p.tracks) {
      for (const auto& l : t.levels) n += l.tiles.size();
    }
  }
  return n;
}

TEST(Timeline, TilesHoldTheSharesOfTheirLayersAndTheLargestName) {
  TestTrace t;
  const auto p = t.Process("p", 0, 4096 * 100);
  const auto lead = t.Lead(p);
  t.Operation(lead, "forward", 0, 200);
  t.Span(lead, 0, 25, t.Name("short", Kind::kSpan, Layer::kPython));
  t.Span(lead, 25, 75, t.Name("long", Kind::kSpan, Layer::kFramework));
  const Timeline got = Make(t.Finish());
  const TimelineLevel& finest = got.processes[0].tracks[0].levels.back();
  ASSERT_EQ(finest.tile_ns, 100);
  const TimelineTile& tile = finest.tiles[0];
  EXPECT_EQ(got.texts[tile.name], "long");
  EXPECT_EQ(got.texts[tile.operation], "forward");
  EXPECT_EQ(tile.share[static_cast<int>(Layer::kPython)], 63);
  EXPECT_EQ(tile.share[static_cast<int>(Layer::kFramework)], 127);
  EXPECT_EQ(tile.spans, 3u);
  const TimelineLevel& coarser = got.processes[0].tracks[0].levels[1];
  EXPECT_EQ(coarser.tile_ns, 400);
  EXPECT_EQ(coarser.tiles[0].share[static_cast<int>(Layer::kFramework)], 31);
}

TEST(Timeline, ControlStepsAreOfNoOtherLayer) {
  TestTrace t;
  const auto p = t.Process("p", 0, 4096 * 100);
  const auto lead = t.Lead(p);
  const auto drain = t.Thread(p);
  t.trace().tracks[drain.value].ours = true;
  t.Operation(lead, "forward", 0, 4096 * 100);
  t.Spans(lead, Layer::kPython, {{0, 4096 * 100}});
  t.Spans(drain, Layer::kOverhead, {{0, 4096 * 100}});
  // The probes are off from the control step's begin to the next step's.
  t.Step(p, 100, 1000, 3);
  t.Step(p, 1050, 1800, 0);
  t.Step(p, 2000, 3000, 3);
  const Timeline got = Make(t.Finish());
  const auto share = [&](size_t track, size_t tile, Layer layer) -> int {
    for (const TimelineTile& run : got.processes[0].tracks[track].levels.back().tiles) {
      if (tile < run.index || tile >= run.index + run.count) continue;
      EXPECT_EQ(run.name == kNoText, run.share[static_cast<int>(Layer::kControl)] == 255);
      return run.share[static_cast<int>(layer)];
    }
    return -1;
  };
  EXPECT_EQ(share(0, 9, Layer::kPython), 255);
  EXPECT_EQ(share(0, 10, Layer::kPython), 127);
  EXPECT_EQ(share(0, 10, Layer::kControl), 127);
  for (size_t tile = 11; tile < 20; ++tile) EXPECT_EQ(share(0, tile, Layer::kControl), 255);
  EXPECT_EQ(share(0, 20, Layer::kPython), 255);
  EXPECT_EQ(share(0, 4095, Layer::kPython), 255);
  EXPECT_EQ(share(1, 15, Layer::kOverhead), 255);
}

TEST(Timeline, StepsThatAreLeftOutShowWhatIsMarked) {
  TestTrace t;
  const auto p = t.Process("p", 0, 4096 * 100);
  const auto lead = t.Lead(p);
  t.Operation(lead, "forward", 1000, 2000);
  t.Step(p, 0, 1000, 3);
  t.Step(p, 1000, 2000, 4);
  t.Step(p, 2000, 3000, 3);
  const Timeline got = Make(t.Finish());
  for (const TimelineTile& run : got.processes[0].tracks[0].levels.back().tiles) {
    if (run.index > 15 || run.index + run.count <= 15) continue;
    EXPECT_EQ(got.texts[run.name], "forward");
    EXPECT_EQ(run.share[static_cast<int>(Layer::kControl)], 255);
  }
}

TEST(Timeline, EqualNeighboursAreOneTileAndEmptyOnesNone) {
  TestTrace t;
  const auto p = t.Process("p", 0, 4096);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kFramework, {{1000, 3000}});
  const Timeline got = Make(t.Finish());
  const TimelineLevel& finest = got.processes[0].tracks[0].levels.back();
  ASSERT_EQ(finest.tiles.size(), 1u);
  EXPECT_EQ(finest.tiles[0].index, 1000u);
  EXPECT_EQ(finest.tiles[0].count, 2000u);
}

// Tiles are those of the run, whatever the end of a span says.
TEST(Timeline, HasNoTileForWhatASpanSaysBeyondTheRun) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000);
  t.Lead(p);
  const auto device = t.Device(p);
  t.Span(device, 10, int64_t{1} << 60, t.Name("stuck", Kind::kSpan, Layer::kDevice));
  const trace::Trace& trace = t.Finish();
  const Timeline timeline = MakeTimeline(trace, Context(trace));
  uint64_t tiles = 0;
  for (const TimelineTrack& track : timeline.processes[0].tracks) {
    for (const TimelineLevel& level : track.levels) {
      for (const TimelineTile& tile : level.tiles) tiles += tile.count;
    }
  }
  EXPECT_GT(tiles, 4000);
  EXPECT_LT(tiles, 6000);
}

TEST(Timeline, CountsEverySpanOnceOnEveryLevel) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestTrace random = RandomTrace(seed);
    trace::Trace& trace = random.Finish();
    trace.processes[0].start_ns = 0;
    const Timeline got = Make(trace);
    for (const TimelineTrack& track : got.processes[0].tracks) {
      for (const TimelineLevel& level : track.levels) {
        uint64_t spans = 0;
        uint32_t last_end = 0;
        for (const TimelineTile& tile : level.tiles) {
          ASSERT_GE(tile.index, last_end);
          last_end = tile.index + tile.count;
          spans += tile.spans;
          const int sum = std::accumulate(tile.share.begin(), tile.share.end(), 0);
          ASSERT_LE(sum, 255);
        }
        ASSERT_EQ(spans, trace.tracks[track.track].spans.size());
      }
    }
  }
}

TEST(Timeline, StaysWithinItsLimitsHoweverLongTheRunAndHoweverManyTracks) {
  TestTrace t;
  const auto p = t.Process("p", 0, 50'000'000);
  const auto name = t.Name("op", Kind::kSpan, Layer::kFramework);
  for (int i = 0; i < 60; ++i) {
    const auto track = i == 0 ? t.Lead(p) : t.Thread(p);
    for (int64_t at = 0; at < 5000; ++at) {
      t.Span(track, at * 10'000, at * 10'000 + 1 + (at * 7919) % 9000, name);
    }
  }
  for (int64_t i = 0; i < 100; ++i) t.Step(p, i * 500'000, (i + 1) * 500'000, 3);
  const trace::Trace& trace = t.Finish();
  const Timeline got =
      Make(trace, {.max_tiles = 5000, .max_tracks = 50, .max_detail_spans = 700, .steps = {}});
  EXPECT_LE(Tiles(got), 5000u);
  EXPECT_GT(Tiles(got), 500u);
  EXPECT_EQ(got.omitted_tracks, 10u);
  EXPECT_TRUE(got.processes[0].tracks[0].lead);
  size_t spans = 0;
  uint64_t omitted = 0;
  for (const TimelineDetail& d : got.details) {
    for (const TimelineDetailTrack& track : d.tracks) {
      spans += track.spans.size();
      omitted += track.omitted;
    }
  }
  EXPECT_LE(spans, 700u);
  EXPECT_GT(spans, 300u);
  EXPECT_GT(omitted, 0u);
}

TEST(Timeline, DetailsBeginWithATypicalAndTheSlowestStepWithExactSpans) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100'000);
  const auto lead = t.Lead(p);
  t.Operation(lead, "epoch", 0, 100'000);
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t at = i * 1000;
    t.Step(p, at, at + (i == 7 ? 990 : 500 + i), 3);
    for (int64_t k = at; k < at + 450; k += 90) t.Spans(lead, Layer::kFramework, {{k, k + 50}});
  }
  const Timeline got = Make(t.Finish(), {.max_detail_spans = 60, .steps = {}});
  ASSERT_GT(got.details.size(), 2u);
  EXPECT_THAT(got.details[0].title, ::testing::EndsWith(", typical"));
  EXPECT_EQ(got.details[1].title, "step 7, slowest");
  EXPECT_EQ(got.details[1].begin_ns, 7000);
  ASSERT_EQ(got.details[1].tracks.size(), 1u);
  const auto& spans = got.details[1].tracks[0].spans;
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_EQ(spans[0].kind, Kind::kOperation);
  EXPECT_EQ(spans[0].begin_ns, 7000);
  EXPECT_EQ(spans[0].end_ns, 7990);
  EXPECT_EQ(spans[3].begin_ns, 7180);
  EXPECT_EQ(spans[3].depth, 1);
  EXPECT_EQ(spans[3].layer, Layer::kFramework);
}

// 400 steps of 50 spans, in blocks of 100 of the levels 3, 2, 1, 3; step 350 is slow.
trace::Trace& ManySteps(TestTrace& t) {
  const auto p = t.Process("p", 0, 400'000);
  const auto lead = t.Lead(p);
  const auto name = t.Name("op", Kind::kSpan, Layer::kFramework);
  for (int64_t i = 0; i < 400; ++i) {
    const int64_t at = i * 1000;
    t.Step(p, at, at + (i == 350 ? 990 : 600 + i % 7), std::array<uint8_t, 4>{3, 2, 1, 3}[i / 100]);
    for (int64_t k = 0; k < 50; ++k) t.Span(lead, at + k * 10, at + k * 10 + 5, name);
  }
  return t.Finish();
}

std::vector<int64_t> StepsOf(const trace::Trace& trace, const Timeline& timeline) {
  std::vector<int64_t> numbers;
  for (const TimelineDetail& d : timeline.details) {
    for (const trace::Step& s : trace.processes[0].steps) {
      if (s.begin_ns == d.begin_ns && s.end_ns == d.end_ns) numbers.push_back(s.number);
    }
  }
  return numbers;
}

TEST(Timeline, KeptStepsCoverLevelsAndTheSlowestWithinTheBudget) {
  TestTrace t;
  const trace::Trace& trace = ManySteps(t);
  const Timeline got = Make(trace, {.max_detail_spans = 600, .steps = {}});
  const std::vector<int64_t> steps = StepsOf(trace, got);
  EXPECT_EQ(steps.size(), got.details.size());
  EXPECT_EQ(steps.size(), 12u) << "600 spans, 50 in each";
  EXPECT_EQ(std::set(steps.begin(), steps.end()).size(), steps.size()) << "each once";
  EXPECT_EQ(steps[1], 350);
  std::set<uint8_t> levels;
  for (const int64_t s : steps) {
    levels.insert(trace.processes[0].steps[static_cast<size_t>(s)].level);
  }
  EXPECT_THAT(levels, ElementsAre(1, 2, 3));
  for (const TimelineDetail& d : got.details) {
    for (const TimelineDetailTrack& track : d.tracks) EXPECT_EQ(track.omitted, 0u);
  }
}

TEST(Timeline, StepsThatAreAskedForComeFirst) {
  TestTrace t;
  const trace::Trace& trace = ManySteps(t);
  const Timeline got = Make(trace, {.max_detail_spans = 600, .steps = {7, 222, 100000}});
  const std::vector<int64_t> steps = StepsOf(trace, got);
  ASSERT_GT(steps.size(), 4u);
  EXPECT_EQ(steps[0], 7);
  EXPECT_EQ(steps[1], 222);
  EXPECT_EQ(got.details[0].title, "step 7, asked for");
}

constexpr const char* kLaunch = R"(
process p window=0..1000
thread main tid=1 base=python main
span launch 10 20 runtime
arg "Input Dims" "[[2, 3]]"
arg size 12
span launch 30 40 runtime
arg "Input Dims" "[[2, 3]]"
arg size 12
span plain 50 60 framework at=17
device gpu0 device=0 stream=7
span kernel 100 200 device
)";

TEST(Timeline, SpansKeepTheirArgumentsAndTheirCallersLine) {
  const trace::Trace trace = testing::Parse(kLaunch);
  const Timeline got = Make(trace);
  const auto& spans = got.details[0].tracks[0].spans;
  ASSERT_EQ(spans.size(), 3u);
  ASSERT_EQ(got.args.size(), 1u) << "equal arguments are kept once";
  std::vector<std::string> words;
  for (const uint32_t text : got.args[spans[0].args]) words.push_back(got.texts[text]);
  EXPECT_THAT(words, ElementsAre("Input Dims", "[[2, 3]]", "size", "12"));
  EXPECT_EQ(spans[1].args, spans[0].args);
  EXPECT_EQ(spans[2].args, kNoText);
  EXPECT_EQ(spans[2].called_at, 17);
  const Timeline poor = Make(trace, {.max_arg_bytes = 0, .steps = {}});
  EXPECT_EQ(poor.details[0].tracks[0].spans[0].args, kArgsLeftOut);
}

TEST(Timeline, FlowsLeadFromKeptSpanToKeptSpan) {
  trace::Trace trace = testing::Parse(kLaunch);
  trace.flows.push_back({1, {0}, {1}, 1, 0, 30, 100});
  const Timeline got = Make(trace);
  ASSERT_EQ(got.flows.size(), 1u);
  EXPECT_EQ(got.flows[0].from, 1u);
  EXPECT_EQ(got.flows[0].to, 3u) << "counted through the tracks";
  EXPECT_EQ(Make(trace, {.max_flows = 0, .steps = {}}).omitted_flows, 1u);
}

TEST(Timeline, ASmallRunIsShownWhole) {
  TestTrace t;
  const auto p = t.Process("p", 10, 90);
  t.Spans(t.Lead(p), Layer::kFramework, {{20, 30}, {22, 25}});
  const Timeline got = Make(t.Finish());
  ASSERT_EQ(got.details.size(), 1u);
  EXPECT_EQ(got.details[0].title, "whole run");
  EXPECT_EQ(got.details[0].tracks[0].spans[1].depth, 1);
}

// Work on a device has layer device, whether its name says so or nothing; waiting is idle there,
// too.
TEST(Timeline, WorkOnDevicesHasItsLayer) {
  TestTrace t;
  const auto p = t.Process("p", 0, 4096 * 100);
  t.Lead(p);
  const auto device = t.Device(p);
  const Layer layers[] = {Layer::kDevice, Layer::kNone, Layer::kComm, Layer::kIdle};
  for (int64_t i = 0; i < 4; ++i) {
    t.Span(device, i * 100, i * 100 + 100, t.Name("work", Kind::kSpan, layers[i]));
  }
  t.Span(device, 400, 500, t.Name("user", Kind::kPhase, Layer::kNone));
  const Timeline got = Make(t.Finish());
  const TimelineTrack& track = got.processes[0].tracks[1];
  ASSERT_TRUE(track.device);
  const Layer want[] = {Layer::kDevice, Layer::kDevice, Layer::kComm, Layer::kIdle, Layer::kNone};
  const auto& spans = got.details[0].tracks.back().spans;
  ASSERT_EQ(spans.size(), 5u);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(spans[i].layer, want[i]) << i;
    for (const TimelineTile& tile : track.levels.back().tiles) {
      if (i < tile.index || i >= tile.index + tile.count || want[i] == Layer::kNone) continue;
      EXPECT_EQ(tile.share[static_cast<size_t>(want[i])], 255) << i;
    }
  }
}

// What is deeper than a depth can say is as deep as it can say.
TEST(Timeline, TheDepthOfASpanDoesNotWrapAround) {
  TestTrace t;
  const auto p = t.Process("p", 0, 200'000);
  const auto lead = t.Lead(p);
  constexpr int64_t kDeep = 65'540;
  const auto name = t.Name("f", Kind::kSpan, Layer::kPython);
  for (int64_t i = 0; i < kDeep; ++i) t.Span(lead, i, 200'000 - i, name);
  const Timeline got = Make(t.Finish(), {.max_detail_spans = 100'000, .steps = {}});
  const auto& spans = got.details[0].tracks[0].spans;
  ASSERT_EQ(spans.size(), static_cast<size_t>(kDeep));
  EXPECT_EQ(spans.back().depth, UINT16_MAX);
}

TEST(Timeline, AKindWhoseNameHasACommaIsNoClassOfSteps) {
  TestTrace t;
  const auto p = t.Process("p", 0, 400'000);
  const auto lead = t.Lead(p);
  const auto name = t.Name("op", Kind::kSpan, Layer::kFramework);
  for (int64_t i = 0; i < 40; ++i) {
    t.Step(p, i * 1000, i * 1000 + 600 + i % 7, 3);
    for (int64_t k = 0; k < 50; ++k) t.Span(lead, i * 1000 + k * 10, i * 1000 + k * 10 + 5, name);
  }
  for (trace::Step& step : t.process(p).steps) {
    step.kind = t.trace().strings.Intern("train, lr 0.1");
  }
  const Timeline got = Make(t.Finish(), {.max_detail_spans = 600, .steps = {}});
  for (const TimelineDetail& d : got.details) {
    EXPECT_THAT(d.title, ::testing::Not(::testing::EndsWith(", lr 0.1")));
  }
}

TEST(Timeline, AnEmptyTraceHasNone) { EXPECT_TRUE(Make(trace::Trace()).processes.empty()); }

}  // namespace
}  // namespace crosscut::analyze
