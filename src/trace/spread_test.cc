// Work of a queue that overlaps without nesting, beside a plain list of it.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

using Told = std::multiset<std::array<int64_t, 3>>;  // begin, end, number

TEST(Spread, EverySpanKeepsItsTimesItsArgumentsAndItsArrow) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Builder builder;
    const ProcessId process = builder.AddProcess("p");
    TrackBuilder& host = builder.AddTrack(process, TrackKind::kThread);
    TrackBuilder& queue = builder.AddTrack(process, TrackKind::kDevice);
    const NameId name = builder.AddName({builder.Text("work")});
    const StringId number = builder.Text("number");
    queue.Instant(7, name);
    Told was, is;
    const auto count = static_cast<int64_t>(random() % 40);
    for (int64_t i = 0; i < count; ++i) {
      host.Begin(i, name);
      host.FlowOut(i, static_cast<uint64_t>(i) + 1);
      host.End(i);
      const int64_t begin = random() % 60, end = begin + random() % 25;
      queue.SpanAt(begin, end, name);
      queue.Arg(number, i);
      queue.FlowIntoLast(static_cast<uint64_t>(i) + 1);
      was.insert({begin, end, i});
    }
    queue.Spread([&] { return &builder.AddTrack(process, TrackKind::kDevice); });
    const Trace trace = builder.Finish();
    EXPECT_EQ(trace.tracks[1].instants.at_ns, (std::vector<int64_t>{7}));
    for (const Track& track : trace.tracks) {
      EXPECT_EQ(track.clamped, 0);
      for (SpanIndex s = 0; track.kind == TrackKind::kDevice && s < track.spans.size(); ++s) {
        is.insert(
            {track.spans.begin_ns[s], track.spans.end_ns[s], track.args.Find(s, number).value});
      }
    }
    EXPECT_EQ(is, was);
    EXPECT_EQ(trace.flows.size(), static_cast<size_t>(count));
    for (const Flow& flow : trace.flows) {
      EXPECT_EQ(trace.tracks[flow.to_track.value].args.Find(flow.to, number).value + 1,
                static_cast<int64_t>(flow.id));
    }
  }
}

TEST(Spread, OfMoreThanThereAreTracksForIsCutAndCounted) {
  Builder builder;
  const ProcessId process = builder.AddProcess("p");
  TrackBuilder& queue = builder.AddTrack(process, TrackKind::kDevice);
  const NameId name = builder.AddName({builder.Text("work")});
  constexpr int64_t kSpans = TrackBuilder::kMostLanes + 3;
  for (int64_t i = 0; i < kSpans; ++i) queue.SpanAt(i, i + kSpans, name);
  queue.Spread([&] { return &builder.AddTrack(process, TrackKind::kDevice); });
  const Trace trace = builder.Finish();
  ASSERT_EQ(trace.tracks.size(), TrackBuilder::kMostLanes);
  EXPECT_EQ(trace.tracks.back().spans.size(), 4u);
  EXPECT_EQ(trace.tracks.back().clamped, 3);
}

}  // namespace
}  // namespace crosscut::trace
