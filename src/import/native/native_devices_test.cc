// Queues of devices: what plugins pushed on them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

using testing::ElementsAre;

// Streams that a device's library merges, copies beside kernels, launches of graphs.
TEST_F(Native, WorkOfAQueueThatOverlapsKeepsItsTimesOnFurtherTracks) {
  Words session = Session();
  session.Name(0x101, "kernel", Attributes(format::kKindSpan, format::kLayerDevice));
  session.Name(0x103, "Queue 7", Attributes(format::kKindText, format::kLayerNone));
  session.Name(0x104, "CHIP", Attributes(format::kKindText, format::kLayerNone));
  session.At(0, format::kTrack, {50, 3, 7, format::kClockMonotonic, 0x103, 0x104});
  Words thread;
  thread.Thread(0, 1, format::kThreadIsMain);
  for (const auto& [begin, end] : {std::pair{200u, 400u},
                                   {100u, 300u},
                                   {250u, 260u},
                                   {300u, 350u},
                                   {320u, 410u},
                                   {500u, 600u}}) {
    thread.At(700, format::kSpanOn, {50, 0x101, begin, end});
  }
  Write("p1", session, {thread});
  const trace::Trace trace = Read();
  std::vector<std::string> told;
  for (const trace::Track& track : trace.tracks) {
    if (track.kind != trace::TrackKind::kDevice) continue;
    std::string text(trace.text(track.name));
    text += ", " + std::string(trace.text(track.device_name)) + " " + std::to_string(track.device) +
            "/" + std::to_string(track.os_id) + ":";
    for (uint32_t i = 0; i < track.spans.size(); ++i) {
      text += " " + std::to_string(track.spans.begin_ns[i]) + "-" +
              std::to_string(track.spans.end_ns[i]);
    }
    told.push_back(text);
    EXPECT_EQ(track.clamped, 0);
  }
  EXPECT_THAT(told, ElementsAre("Queue 7, CHIP 3/7: 100-300 300-350 500-600",
                                "Queue 7 (2), CHIP 3/7: 200-400",
                                "Queue 7 (3), CHIP 3/7: 250-260 320-410"));
  EXPECT_THAT(trace.gaps, ElementsAre());
}

TEST_F(Native, WorkThatNestsStaysOnOneTrack) {
  Words session = Session();
  session.Name(0x101, "kernel", Attributes(format::kKindSpan, format::kLayerDevice));
  session.Name(0x103, "Queue 7", Attributes(format::kKindText, format::kLayerNone));
  session.At(0, format::kTrack, {50, 3, 7, format::kClockMonotonic, 0x103, 0});
  Words thread;
  thread.Thread(0, 1, format::kThreadIsMain);
  for (const auto& [begin, end] : {std::pair{150u, 200u}, {100u, 300u}, {160u, 200u}}) {
    thread.At(700, format::kSpanOn, {50, 0x101, begin, end});
  }
  Write("p1", session, {thread});
  const trace::Trace trace = Read();
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.tracks[0].spans.begin_ns, (trace::Column<int64_t>{100, 150, 160}));
  EXPECT_EQ(trace.tracks[0].spans.parent, (trace::Column<trace::SpanIndex>{trace::kNoSpan, 0, 1}));
}

}  // namespace
}  // namespace crosscut::import
