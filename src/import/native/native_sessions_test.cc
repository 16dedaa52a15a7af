// Where sessions, pauses and killed processes end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Native, SpansEndWithTheirSessionThoughAnEventStandsBehindItsEnd) {
  Words session = Session();
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  session.At(300, format::kStop, {format::kStopAsked});
  session.At(400, format::kStart, {TickOf(400)}).At(500, format::kStop, {format::kStopAsked});
  session.At(550, format::kStart, {TickOf(550)}).At(800, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(0, 1, 0).At(50, 0x100).At(90, 0x100).At(306, format::kEnd);
  main.Thread(420, 1, 0).At(430, 0x100);
  main.Thread(600, 1, 0).At(650, 0x100).At(700, format::kEnd);
  Words waits;  // and marks nothing any more
  waits.Thread(0, 2, 0).At(60, 0x100);
  Write("p1-1", session, {main, waits});
  const trace::Trace trace = Read();
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(306, 306, 500, 700));
  EXPECT_THAT(trace.tracks[1].spans.end_ns, ElementsAre(300));
}

TEST_F(Native, ASessionWhoseEndWasLostEndsWhereTheNextBegins) {
  Words session = Session();
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  session.At(400, format::kStart, {TickOf(400)});
  session.At(800, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(20, 1, 0).At(50, 0x100);
  main.Thread(600, 1, 0).At(650, 0x100).At(700, format::kEnd);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(400, 700));
  ASSERT_EQ(trace.processes[0].windows.size(), 2u);
  EXPECT_FALSE(trace.processes[0].windows[0].complete);
  EXPECT_EQ(trace.processes[0].windows[0].end_ns, 400);
  EXPECT_TRUE(trace.processes[0].windows[1].complete);
}

TEST_F(Native, ExcludesPausesAndTheTimeBetweenSessions) {
  Words session = Session();
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  session.At(100, format::kPause).At(200, format::kResume);
  session.At(300, format::kStop, {format::kStopAsked});
  session.At(500, format::kStart, {TickOf(500)}).At(800, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(0, 1, 0).At(50, 0x100);
  main.Thread(600, 1, 0).At(650, 0x100).At(700, format::kEnd).At(750, format::kEnd);
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  const trace::Process& process = trace.processes[0];
  ASSERT_EQ(process.paused.size(), 2u);
  EXPECT_EQ(process.paused[0].begin_ns, 100);
  EXPECT_EQ(process.paused[0].end_ns, 200);
  EXPECT_EQ(process.paused[1].begin_ns, 300);
  EXPECT_EQ(process.paused[1].end_ns, 500);
  EXPECT_EQ(process.end_ns, 800);
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(300, 700));
  EXPECT_EQ(trace.tracks[0].unbalanced, 1);
}

TEST_F(Native, EndsAKilledProcessAtItsLastWordAndSaysSo) {
  Words session = Session();
  session.Name(0x100, "f", Attributes(format::kKindSpan, format::kLayerNative));
  Words main;
  main.Thread(0, 1, 0).At(1500, 0x100);
  Words other;
  other.Thread(10, 2, 0).At(2000, 0x100);
  Write("p1-1", session, {main, other}, /*finish=*/false);
  const trace::Trace trace = Read();
  EXPECT_EQ(trace.processes[0].end_ns, 2000);
  EXPECT_FALSE(trace.processes[0].complete);
  EXPECT_THAT(std::string(trace.text(trace.processes[0].why_incomplete)), HasSubstr("killed"));
  EXPECT_THAT(trace.tracks[0].spans.end_ns, ElementsAre(2000));
  EXPECT_EQ(trace.tracks[0].unfinished, 1);
}

}  // namespace
}  // namespace crosscut::import
