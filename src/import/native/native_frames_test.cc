#include <gmock/gmock.h>

#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

std::string Show(const trace::Trace& trace, size_t track) {
  std::string out;
  const trace::Spans& spans = trace.tracks[track].spans;
  for (size_t i = 0; i < spans.size(); ++i) {
    out += std::string(trace.name_text(spans.name[i])) + " " + std::to_string(spans.begin_ns[i]) +
           "-" + std::to_string(spans.end_ns[i]) + " ";
  }
  EXPECT_EQ(trace.tracks[track].unbalanced, 0);
  return out;
}

TEST_F(Native, FramesEndOnAllThreadsWhereTheHookGoesOutAndRunSinceItCameBack) {
  Words session = Session();
  format::NameAttributes frame = Attributes(format::kKindSpan, format::kLayerPython);
  frame.flags = format::kFlagFrame;
  session.Name(0x100, "f", frame).Name(0x101, "g", frame);
  session.Name(0x102, "wait", Attributes(format::kKindSpan, format::kLayerIdle));
  session.At(300, format::kFrames, {0}).At(500, format::kFrames, {1});
  session.At(800, format::kFrames, {0}).At(900, format::kStop, {format::kStopExit});
  Words works, waits, comes_later, never_again;
  works.Thread(0, 1, 0).At(50, 0x100).At(100, 0x101).At(400, 0x102).At(410, format::kEnd);
  works.At(510, format::kRunning, {0x100}).At(600, format::kEnd);
  waits.Thread(0, 2, 0).At(50, 0x100).At(100, 0x102);
  waits.At(700, format::kRunning, {0x100 | uint64_t{2} << 32});
  waits.At(700, format::kRunning, {0x102 | uint64_t{1} << 32 | format::kRunningBegun});
  waits.At(700, format::kRunning, {0x101}).At(710, format::kEnd).At(720, format::kEnd);
  comes_later.Thread(600, 3, 0).At(610, format::kRunning, {0x100});
  never_again.Thread(0, 4, 0).At(50, 0x100);
  Write("p1-1", session, {works, waits, comes_later, never_again});
  const trace::Trace trace = Read();
  const auto show = [&](size_t track) { return Show(trace, track); };
  EXPECT_EQ(show(0), "f 50-300 g 100-300 wait 400-410 f 500-600 ");
  EXPECT_EQ(show(1), "f 50-300 wait 100-300 wait 300-500 f 500-800 wait 500-720 g 500-710 ");
  EXPECT_EQ(show(2), "f 610-800 ");
  EXPECT_EQ(show(3), "f 50-300 ");
}

// A native call leads to itself, and to a callback that is no frame; `outer` of the two was not
// recorded, or its begin was lost.
TEST_F(Native, ANativeCallIsFoundAmongItsNamesakes) {
  const auto write = [this](const char* name, uint64_t outer) {
    Words session = Session();
    format::NameAttributes frame = Attributes(format::kKindSpan, format::kLayerPython);
    session.Name(0x102, "callback", frame);
    frame.flags = format::kFlagFrame;
    session.Name(0x100, "f", frame);
    session.Name(0x101, "reduce", Attributes(format::kKindSpan, format::kLayerFramework));
    session.At(300, format::kFrames, {1}).At(900, format::kStop, {format::kStopExit});
    Words thread;
    thread.Thread(0, 1, 0).At(50, 0x101).At(60, 0x102);
    thread.At(400, format::kRunning, {0x101 | uint64_t{3} << 32 | outer});
    thread.At(400, format::kRunning, {0x100 | uint64_t{2} << 32});
    thread.At(400, format::kRunning, {0x101 | uint64_t{1} << 32 | format::kRunningBegun});
    thread.At(400, format::kRunning, {0x100});
    for (const int64_t at : {500, 510, 520, 530, 540}) thread.At(at, format::kEnd);
    Write(name, session, {thread});
  };
  write("p1-1", 0);
  write("p1-2", format::kRunningBegun);
  const trace::Trace trace = Read();
  for (const size_t track : {0, 1}) {
    EXPECT_EQ(Show(trace, track),
              "reduce 50-300 callback 60-300 reduce 300-540 f 300-530 reduce 300-520 "
              "callback 300-510 f 300-500 ");
  }
}

}  // namespace
}  // namespace crosscut::import
