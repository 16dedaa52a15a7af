#include "src/format/cut.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <map>

#include "src/base/file.h"
#include "src/format/log_writer.h"
#include "src/format/run_reader.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::ThreadWords;
using testing::Word;
using Words = std::vector<uint64_t>;

constexpr uint64_t kSpan = 0x100, kOther = 0x101, kOperation = 0x102, kStep = 0x103,
                   kOverhead = 0x104;

class CutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/crosscut_cut_XXXXXX";
    folder_ = mkdtemp(pattern);
    for (const char* name : {"/outer", "/copy"}) {
      ASSERT_EQ(system(("mkdir " + folder_ + name).c_str()), 0);
      std::ofstream(folder_ + name + "/run.json") << R"({"format": 1})";
    }
  }
  void TearDown() override {
    [[maybe_unused]] const int rc = system(("rm -rf '" + folder_ + "'").c_str());
  }

  static Words Name(uint64_t id, NameAttributes facts) {
    return {Word(1, kName), id, facts.Pack(), 4, 0x64636261};
  }

  // The outer process's log: `session` and, for track 7, `events`; where `finishes`, to its end.
  void Record(const Words& session, const Words& events) {
    Words names;
    const Words all[] = {Name(kSpan, {}), Name(kOther, {}), Name(kOperation, {kKindOperation}),
                         Name(kStep, {kKindStep}), Name(kOverhead, {kKindSpan, kLayerOverhead})};
    for (const Words& one : all) names.insert(names.end(), one.begin(), one.end());
    names.insert(names.end(), session.begin(), session.end());
    auto file = base::OpenFile(folder_ + "/outer/p1-1.crosscut", base::OpenMode::kCreateNew);
    auto writer = std::move(*LogWriter::Create(std::move(*file), {4242, 999999999}));
    ASSERT_TRUE(writer->AppendSession({0, 0, 1, names}).ok());
    const Piece piece = {0, 0, 1, events};
    ASSERT_TRUE(writer->AppendEvents(7, {&piece, 1}).ok());
  }

  Status CutOut(std::vector<CutPart> parts) const {
    return CutProcess(folder_ + "/outer", "p1-1", {std::move(parts), {{"job", "seven"}}},
                      folder_ + "/copy/p1-1.crosscut");
  }

  // Words of the copy: the session's edges and facts as text, then the events of each track.
  void ReadCopy() {
    auto run = RunReader::Open(folder_ + "/copy");
    ASSERT_TRUE(run.ok()) << run.status().message();
    ASSERT_EQ((*run)->processes().size(), 1u);
    ProcessReader* process = (*run)->processes()[0];
    ASSERT_TRUE(
        process->ForEachSession([&](const WordBatch& batch) { return Add(batch, &session_); })
            .ok());
    ASSERT_TRUE(process
                    ->ForEachEvents(
                        [&](const WordBatch& batch) { return Add(batch, &events_[batch.track]); })
                    .ok());
    EXPECT_TRUE(process->info().complete());
    EXPECT_TRUE(process->info().finished);
  }
  static Status Add(const WordBatch& batch, Words* to) {
    to->insert(to->end(), batch.words.begin(), batch.words.end());
    return {};
  }

  bool HasEdge(uint64_t tick, uint64_t code) const {
    for (size_t at = 0; at < session_.size(); at += EventLength(session_, at)) {
      if (session_[at] == Word(tick, code)) return true;
    }
    return false;
  }

  std::string folder_;
  Words session_;
  std::map<uint32_t, Words> events_;
};

void Append(Words* to, const Words& more) { to->insert(to->end(), more.begin(), more.end()); }

TEST_F(CutTest, ASpanOfTheWindowIsThereAndNeitherWhatBeganBeforeNorItsEnd) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(20, kSpan), Word(30, kOther), Word(40, kEnd),  // before
                   Word(110, kOther), Word(115, kArg), kSpan, 5, Word(120, kEnd),
                   Word(130, kEnd),    // of the span that began at 20
                   Word(140, kOther),  // ends behind the window
                   Word(210, kEnd), Word(220, kOther), Word(230, kEnd)});
  Record({Word(5, kStart), 5}, events);
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected,
         {Word(110, kOther), Word(115, kArg), kSpan, 5, Word(120, kEnd), Word(140, kOther)});
  EXPECT_EQ(events_[7], expected);
  EXPECT_TRUE(HasEdge(100, kStart) && HasEdge(200, kStop));
  EXPECT_FALSE(HasEdge(5, kStart));
}

TEST_F(CutTest, ArgumentsOfWhatBeganBeforeAreNotThoseOfTheWindow) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(99, kSpan), Word(101, kArg), kOther, 5, Word(110, kOther), Word(120, kEnd),
                   Word(130, kEnd), Word(140, kSpanAt), kSpan, 90, 130,  //
                   Word(150, kSpanAt), kSpan, 120, 145, Word(151, kArg), kOther, 6});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected, {Word(110, kOther), Word(120, kEnd), Word(150, kSpanAt), kSpan, 120, 145,
                     Word(151, kArg), kOther, 6});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, AnOperationsEndIsLeftOutWithItsBeginAndWhatEndedWithItEndsThere) {
  Words events = ThreadWords(7, 10);
  Append(&events,
         {Word(50, kBeginWide), kOperation, Word(110, kSpan), Word(120, kEndNamed), kOperation,
          Word(130, kEnd), Word(140, kBeginWide), kOperation, Word(150, kSpan),
          Word(160, kEndNamed), kOperation, Word(170, kEnd),  // its span ended with the operation
          Word(180, kStep), Word(181, kStepLevel), 3, 3, Word(190, kEndNamed), kStep});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected, {Word(110, kSpan), Word(120, kEnd), Word(140, kBeginWide), kOperation,
                     Word(150, kSpan), Word(160, kEndNamed), kOperation, Word(180, kStep),
                     Word(181, kStepLevel), 3, 3, Word(190, kEndNamed), kStep});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, WhatRunsWhenTheHookOnCallsGoesInEndsInTheWindow) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(20, kSpan), Word(110, kOverhead), Word(115, kRunning), kSpan | 1ull << 32,
                   Word(115, kRunning), kOther, Word(120, kEndNamed), kOverhead, Word(130, kEnd),
                   Word(140, kEnd), Word(150, kEnd)});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected,
         {Word(110, kOverhead), Word(115, kRunning), kSpan | 1ull << 32, Word(115, kRunning),
          kOther, Word(120, kEndNamed), kOverhead, Word(130, kEnd), Word(140, kEnd)});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, BetweenTwoPartsTheCopyIsPausedAndHoldsNothing) {
  Words events = ThreadWords(7, 110);
  Append(&events, {Word(120, kSpan), Word(130, kOther), Word(140, kEnd), Word(160, kOther),
                   Word(165, kEnd), Word(190, kEnd)});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 150, 100, 150}, {180, 200, 180, 200}}).ok());
  ReadCopy();
  Words expected = {Word(110, kThread), 7, 1007, 0, 110};
  Append(&expected, {Word(120, kSpan), Word(130, kOther), Word(140, kEnd), Word(190, kEnd)});
  EXPECT_EQ(events_[7], expected);
  EXPECT_TRUE(HasEdge(150, kPause) && HasEdge(180, kResume));
}

// As a session tells them that was paused there: whoever reads the copy knows what goes on behind.
TEST_F(CutTest, WhatBeganInAPartAndEndsInAPauseEndsThere) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(110, kSpan), Word(120, kBeginWide), kOperation, Word(125, kStep),
                   Word(126, kStepLevel), 3, kLevelEverything});
  Append(&events, {Word(160, kEndNamed), kOperation, Word(161, kOther), Word(162, kEnd),
                   Word(163, kEnd), Word(164, kBase), kLayerIdle, Word(165, kEndNamed), kStep,
                   Word(166, kStep), Word(190, kOther), Word(195, kEnd)});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 150, 100, 150}, {180, 200, 180, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected, {Word(110, kSpan), Word(120, kBeginWide), kOperation, Word(125, kStep),
                     Word(126, kStepLevel), 3, kLevelEverything});
  Append(&expected, {Word(160, kEndNamed), kOperation, Word(163, kEnd), Word(164, kBase),
                     kLayerIdle, Word(165, kEndNamed), kStep, Word(166, kEndNamed), kStep,
                     Word(190, kOther), Word(195, kEnd)});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, WhatIsOpenWhereASessionEndsDoesNotGoOnInTheNext) {
  Words events = ThreadWords(7, 60);
  Append(&events, {Word(110, kSpan), Word(112, kBeginWide), kOperation, Word(114, kStep)});
  Append(&events, {Word(145, kThread), 7, 1007, 0, 145, Word(150, kOther), Word(155, kEnd)});
  Record({Word(50, kStart), 50, Word(120, kStop), kStopAsked, Word(140, kStart), 140}, events);
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected, {Word(110, kSpan), Word(112, kBeginWide), kOperation, Word(114, kStep)});
  Append(&expected, {Word(120, kEndNamed), kOperation, Word(120, kEnd), Word(120, kEndNamed), kStep,
                     Word(150, kOther), Word(155, kEnd)});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, AThreadThatEndsInAPauseHasEndedInTheCopy) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(110, kSpan), Word(120, kEnd), Word(160, kThreadEnd)});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 150, 100, 150}, {180, 200, 180, 200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected, {Word(110, kSpan), Word(120, kEnd), Word(160, kThreadEnd)});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, FramesEndInAPauseWhereTheHookOnCallsGoesOut) {
  Record({Word(105, kFrames), 1, Word(160, kFrames), 0, Word(170, kFrames), 1}, ThreadWords(7, 10));
  ASSERT_TRUE(CutOut({{100, 150, 100, 150}, {180, 200, 180, 200}}).ok());
  ReadCopy();
  EXPECT_TRUE(HasEdge(105, kFrames) && HasEdge(160, kFrames));
  EXPECT_FALSE(HasEdge(170, kFrames));
}

TEST_F(CutTest, WorkOfDevicesIsChosenByItsOwnTimeWhenEverItWasTold) {
  // Clock 16 is 1000 ns behind CLOCK_MONOTONIC, which track 10 has; realtime is far ahead.
  Words session;
  for (const auto& [track, clock] :
       {std::pair(9, 16), {10, int{kClockMonotonic}}, {11, int{kClockRealtime}}})
    Append(&session, {Word(2, kTrack), static_cast<uint64_t>(track), 0, 7,
                      static_cast<uint64_t>(clock), kSpan, 0});
  Append(&session, {Word(3, kAnchor), 16, 5000, 6000, 1});
  Append(&session, {Word(5, kAnchor), kClockMonotonic, 5, 400, 1});
  Append(&session, {Word(5, kAnchor), kClockRealtime, 5, 1'000'400, 1});
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(300, kSpanOn), 9, kSpan, 90, 95, Word(300, kFlowOn), 9, 1});
  Append(&events, {Word(301, kSpanOn), 9, kSpan, 150, 250, Word(301, kFlowOn), 9, 2});
  Append(&events, {Word(302, kSpanOn), 9, kSpan, 201, 202, Word(302, kArgOn), 9, kOther, 3});
  Append(&events, {Word(303, kSpanOn), 10, kSpan, 1150, 1160});
  Append(&events, {Word(303, kSpanOn), 10, kSpan, 150, 160});
  Append(&events, {Word(304, kInstantOn), 11, kSpan, 1'001'150});
  Append(&events, {Word(305, kInstantOn), 11, kSpan, 1150});
  Record(session, events);
  ASSERT_TRUE(CutOut({{100, 200, 1100, 1200}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  Append(&expected,
         {Word(200, kSpanOn), 9, kSpan, 150, 250, Word(200, kFlowOn), 9, 2, Word(200, kSpanOn), 10,
          kSpan, 1150, 1160, Word(200, kInstantOn), 11, kSpan, 1'001'150});
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, FactsStatedByTheEndAreThereAndItsOwn) {
  const auto fact = [](uint64_t tick, uint64_t letter) {
    return Words{Word(tick, kMeta), 1, 1, 0, letter, 'v'};
  };
  Words session = fact(50, 'a');
  Append(&session, fact(250, 'b'));
  Append(&session, {Word(60, kMeta), 4, 1, 0, 0x676e6972, 'r'});  // "ring"
  Record(session, ThreadWords(7, 10));
  ASSERT_TRUE(CutOut({{100, 200, 100, 200}}).ok());
  ReadCopy();
  std::string keys;
  for (size_t at = 0; at < session_.size(); at += EventLength(session_, at)) {
    if ((session_[at] & kCodeMask) != kMeta) continue;
    keys.append(reinterpret_cast<const char*>(&session_[at + 4]), session_[at + 1]);
    keys += " ";
  }
  EXPECT_EQ(keys, "a job ");
  EXPECT_TRUE(events_.empty());
}

TEST_F(CutTest, TimeInWhichTheProcessDidNotRecordIsNoPartOfTheCopy) {
  Words session = {Word(50, kStart), 50, Word(120, kPause), Word(140, kResume)};
  Append(&session, {Word(160, kStop), kStopExit});
  Record(session, ThreadWords(7, 50));
  ASSERT_TRUE(CutOut({{100, 200, 1000, 2000}}).ok());
  ReadCopy();
  EXPECT_TRUE(HasEdge(100, kStart) && HasEdge(120, kPause) && HasEdge(140, kResume));
  ASSERT_TRUE(HasEdge(160, kStop));
  EXPECT_EQ(session_.back(), kStopExit);
  const std::string log = folder_ + "/copy/p2-2.crosscut";
  for (const auto& [begin, end] : {std::pair<uint64_t, uint64_t>{10, 50}, {125, 135}, {160, 900}}) {
    const Status status = CutProcess(folder_ + "/outer", "p1-1", {{{begin, end, 0, 1}}, {}}, log);
    EXPECT_EQ(status.code(), Status::Code::kInvalid) << begin;
  }
}

// Each thread's last step before a part, and what of it lies behind the part's begin.
TEST_F(CutTest, AStepThatIsLeftOutInPartGoesOnInThePartsThatBeginInIt) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(50, kStep), Word(51, kStepLevel), 3, kLevelControl, Word(190, kSpan)});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 120, 100, 120}, {150, 170, 150, 170}}).ok());
  ReadCopy();
  Words expected = {Word(100, kThread), 7, 1007, 0, 100};
  for (const uint64_t begin : {100, 150}) {
    Append(&expected,
           {Word(begin, kStep), Word(begin, kStepLevel), 3, kLevelControl | kStepAfterSwitch});
  }
  EXPECT_EQ(events_[7], expected);
}

TEST_F(CutTest, AStepThatEndedOrIsRecordedWholeDoesNotGoOn) {
  Words events = ThreadWords(7, 10);
  Append(&events, {Word(50, kStep), Word(51, kStepLevel), 3, kLevelControl,  //
                   Word(60, kStep), Word(61, kStepLevel), 4, kLevelEverything});
  Append(&events, {Word(130, kStep), Word(131, kStepLevel), 5, kLevelControl,  //
                   Word(140, kEndNamed), kStep});
  Record({}, events);
  ASSERT_TRUE(CutOut({{100, 120, 100, 120}, {150, 170, 150, 170}}).ok());
  ReadCopy();
  EXPECT_TRUE(events_.empty());
}

TEST_F(CutTest, WhatIsNotThereIsNamed) {
  Record({}, ThreadWords(7, 10));
  const std::string log = folder_ + "/copy/p2-2.crosscut";
  const Cut cut = {{{100, 200, 100, 200}}, {}};
  EXPECT_EQ(CutProcess(folder_ + "/outer", "p2-2", cut, log).code(), Status::Code::kNotFound);
  EXPECT_EQ(CutProcess(folder_ + "/none", "p1-1", cut, log).code(), Status::Code::kNotFound);
  EXPECT_EQ(CutProcess(folder_ + "/outer", "p1-1", {}, log).code(), Status::Code::kInvalid);
  ASSERT_TRUE(CutProcess(folder_ + "/outer", "p1-1", cut, log).ok());
  EXPECT_FALSE(CutProcess(folder_ + "/outer", "p1-1", cut, log).ok());
}

}  // namespace
}  // namespace crosscut::format
