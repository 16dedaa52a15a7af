// What begins on one thread and ends wherever its work does.
#include "src/import/native/native_async.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/import/native/native_test_run.h"
#include "src/trace/requests.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;

// Begin and end of the spans of each asynchronous track.
std::vector<std::vector<std::pair<int64_t, int64_t>>> Asynchronous(const trace::Trace& trace) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> out;
  for (const trace::Track& track : trace.tracks) {
    if (track.kind != trace::TrackKind::kAsync) continue;
    auto& spans = out.emplace_back();
    for (size_t i = 0; i < track.spans.size(); ++i) {
      spans.emplace_back(track.spans.begin_ns[i], track.spans.end_ns[i]);
    }
  }
  return out;
}

TEST_F(Native, AsynchronousSpansLieBetweenTheirMarksOnTracksOfTheirOwn) {
  Words session = Session();
  format::NameAttributes async = Attributes(format::kKindSpan, format::kLayerComm);
  async.flags = format::kFlagAsync;
  session.Name(0x100, "all_reduce", async);
  const char* const keys[] = {"async", "async end", "async end at"};
  for (uint32_t i = 0; i < 3; ++i) {
    session.Name(0x101 + i, keys[i], Attributes(format::kKindText, format::kLayerNone));
  }
  session.At(900, format::kStop, {format::kStopExit});
  Words main, worker;
  const auto mark = [](Words* words, uint64_t at, uint64_t key, uint64_t number) {
    words->At(at, format::kInstant, {0x100}).At(at, format::kArg, {key, number});
  };
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  mark(&main, 100, 0x101, 7);
  mark(&main, 200, 0x101, 8);
  mark(&main, 600, 0x101, 9);
  worker.Thread(250, 2, format::kLayerIdle);
  mark(&worker, 300, 0x102, 8);
  mark(&worker, 400, 0x102, 7);
  worker.At(400, format::kArg, {0x103, TickOf(350)});
  mark(&worker, 420, 0x102, 66);  // began before the recording
  Write("p1-1", session, {main, worker});
  const trace::Trace trace = Read();
  using Spans = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_THAT(Asynchronous(trace), ElementsAre(Spans{{100, 350}, {600, 900}}, Spans{{200, 300}}));
  EXPECT_TRUE(trace.tracks[0].instants.name.empty());
  int64_t unbalanced = 0;
  for (const trace::Track& track : trace.tracks) unbalanced += track.unbalanced;
  EXPECT_EQ(unbalanced, 1) << "the end of what began before the recording";
}

TEST_F(Native, AnAsynchronousSpanHasWhatItsBeginStates) {
  Words session = Session();
  format::NameAttributes async = Attributes(format::kKindSpan, format::kLayerComm);
  async.flags = format::kFlagAsync;
  session.Name(0x100, "all_reduce", async);
  session.Name(0x101, "work", Attributes(format::kKindSpan, format::kLayerNative));
  const char* const texts[] = {"async", "async end", "Seq", "{}", R"({"group": "a", "size": 3})",
                               "bytes"};
  for (uint32_t i = 0; i < 6; ++i) {
    session.Name(0x102 + i, texts[i], Attributes(format::kKindText, format::kLayerNone));
  }
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  for (uint64_t i = 0; i < 2; ++i) {  // the second ends first
    main.At(100 + 10 * i, format::kInstant, {0x100});
    main.At(100 + 10 * i, format::kArg, {0x102, 7 + i});
    main.At(100 + 10 * i, format::kArgName, {0x105, 0x106});
    main.At(100 + 10 * i, format::kArg, {0x104, 40 + i});
  }
  // Of another span, though a mark came before it.
  main.At(200, 0x101).At(200, format::kArg, {0x107, 12}).At(300, format::kEnd);
  for (uint64_t i = 2; i-- > 0;) {
    main.At(500 - i, format::kInstant, {0x100}).At(500 - i, format::kArg, {0x103, 7 + i});
  }
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  std::vector<std::string> told;
  for (const trace::Track& track : trace.tracks) {
    for (uint32_t i = 0; i < track.spans.size(); ++i) {
      std::string& text = told.emplace_back(trace.name_text(track.spans.name[i]));
      for (const trace::Arg& arg : track.args.of(i)) {
        text += " " + std::string(trace.text(arg.key)) + "=" +
                (arg.is_text ? std::string(trace.text(arg.text())) : std::to_string(arg.value));
      }
    }
  }
  EXPECT_THAT(told, ElementsAre("work bytes=12", "all_reduce group=a size=3 Seq=40",
                                "all_reduce group=a size=3 Seq=41"));
}

TEST_F(Native, AnOperationThatAnotherThreadEndsIsAsynchronous) {
  Words session = Session();
  session.Name(0x100, "outer", Attributes(format::kKindOperation, format::kLayerNone));
  session.Name(0x101, "scope", Attributes(format::kKindOperation, format::kLayerNone));
  session.Name(0x102, "later", Attributes(format::kKindOperation, format::kLayerNone));
  session.At(900, format::kStop, {format::kStopExit});
  Words main, worker;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  main.At(100, 0x100).At(200, 0x101).At(300, 0x102);
  main.At(500, format::kEndNamed, {0x102}).At(600, format::kEndNamed, {0x100});
  worker.Thread(250, 2, format::kLayerPython).At(400, format::kEndNamed, {0x101});
  Write("p1-1", session, {main, worker});
  const trace::Trace trace = Read();
  using Spans = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_THAT(Asynchronous(trace), ElementsAre(Spans{{200, 400}}));
  const trace::Track& track = trace.tracks[0];
  EXPECT_THAT(track.spans.begin_ns, ElementsAre(100, 300));
  EXPECT_THAT(track.spans.end_ns, ElementsAre(600, 500));
  EXPECT_THAT(track.spans.parent, ElementsAre(trace::kNoSpan, 0u));
  EXPECT_EQ(trace.tracks[1].unbalanced, 0);
}

TEST_F(Native, ARequestHasWhatItsEndStates) {
  Words session = Session();
  format::NameAttributes request = Attributes(format::kKindStep, format::kLayerNone);
  request.flags = format::kFlagAsync;
  session.Name(0x100, "HTTP", request).Name(0x101, "GET /a", request);
  const char* const keys[] = {"async", "async end", "running_ns"};
  for (uint32_t i = 0; i < 3; ++i) {
    session.Name(0x102 + i, keys[i], Attributes(format::kKindText, format::kLayerNone));
  }
  session.At(900, format::kStop, {format::kStopExit});
  Words main, worker;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  for (uint64_t i = 0; i < 3; ++i) {  // the last never ends
    main.At(100 + 10 * i, format::kInstant, {0x100}).At(100 + 10 * i, format::kArg, {0x102, 7 + i});
  }
  worker.Thread(250, 2, format::kLayerIdle);
  for (uint64_t i = 2; i-- > 0;) {
    worker.At(500 - 100 * i, format::kInstant, {0x101});
    worker.At(500 - 100 * i, format::kArg, {0x103, 7 + i});
    worker.At(500 - 100 * i, format::kArg, {0x104, 60 + i});
  }
  Write("p1-1", session, {main, worker});
  const trace::Trace trace = Read();
  EXPECT_TRUE(trace.processes[0].steps.empty());
  std::vector<std::string> told;
  const auto requests = trace::RequestsByProcess(trace);
  for (const trace::Request& one : requests[0]) {
    told.push_back(std::string(trace.text(one.name)) + " " + std::to_string(one.begin_ns) + " " +
                   std::to_string(one.end_ns) + " " + std::to_string(one.running_ns) +
                   (one.open ? " open" : ""));
  }
  EXPECT_THAT(told, ElementsAre("GET /a 100 500 60", "GET /a 110 400 61", "HTTP 120 900 -1 open"));
  for (const trace::Track& track : trace.tracks) EXPECT_EQ(track.unfinished, 0);
}

}  // namespace
}  // namespace crosscut::import
