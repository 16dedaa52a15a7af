#include "src/trace/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;

struct Fixture {
  Fixture() {
    process = builder.AddProcess("p");
    builder.process(process).start_ns = 0;
    builder.process(process).end_ns = 100;
    track = &builder.AddTrack(process, TrackKind::kThread);
  }
  NameId Name(std::string_view text, Kind kind = Kind::kSpan) {
    trace::Name name;
    name.text = builder.Text(text);
    name.kind = kind;
    return builder.AddName(name);
  }
  Builder builder;
  ProcessId process;
  TrackBuilder* track;
};

// "a[0,10) b[2,5)" with a parent as "<parent".
std::string Show(const Trace& trace, const Track& track) {
  std::string out;
  const Spans& s = track.spans;
  for (size_t i = 0; i < s.size(); ++i) {
    if (i != 0) out += ' ';
    out += trace.name_text(s.name[i]);
    out += "[" + std::to_string(s.begin_ns[i]) + "," + std::to_string(s.end_ns[i]) + ")";
    if (s.parent[i] != kNoSpan) out += "<" + std::to_string(s.parent[i]);
  }
  return out;
}

TEST(Strings, AreUtf8WhateverBytesTheyComeFrom) {
  Builder builder;
  const StringId plain = builder.Text("caf\xc3\xa9"), bad = builder.Text("caf\xe9");
  EXPECT_EQ(builder.trace().text(plain), "caf\xc3\xa9");
  EXPECT_EQ(builder.trace().text(bad), "caf\xef\xbf\xbd");
  EXPECT_EQ(builder.Text("caf\xe9"), bad);
  EXPECT_EQ(builder.Text("caf\xff"), bad);  // they look the same now
  EXPECT_EQ(builder.trace().strings.Find("caf\xff"), bad);
  EXPECT_EQ(builder.trace().strings.size(), 2u);
  EXPECT_EQ(builder.trace().strings.TakeCleaned(), 2u);
  EXPECT_EQ(builder.trace().strings.TakeCleaned(), 0u);
}

TEST(Builder, NestsWhatBeginsAndEndsInOrder) {
  Fixture f;
  const NameId a = f.Name("a"), b = f.Name("b");
  f.track->Begin(10, a);
  f.track->Begin(20, b);
  f.track->End(30);
  f.track->Begin(30, b);
  f.track->End(30);
  f.track->End(40);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[10,40) b[20,30)<0 b[30,30)<0");
  EXPECT_EQ(trace.tracks[0].unbalanced, 0);
  EXPECT_EQ(trace.tracks[0].end_ns, 100);
}

TEST(Builder, GivesEqualNamesEqualIds) {
  Fixture f;
  EXPECT_EQ(f.Name("a"), f.Name("a"));
  EXPECT_NE(f.Name("a").value, f.Name("a", Kind::kOperation).value);
}

TEST(Builder, ClosesWhatIsOpenAtTheEndAndCountsIt) {
  Fixture f;
  f.track->Begin(10, f.Name("a"));
  f.track->Begin(20, f.Name("b"));
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[10,100) b[20,100)<0");
  EXPECT_EQ(trace.tracks[0].unfinished, 2);
}

TEST(Builder, EndNamedEndsAllAboveItsSpanAndNothingWhereThereIsNone) {
  Fixture f;
  const NameId op = f.Name("op", Kind::kOperation), a = f.Name("a");
  f.track->Begin(1, op);
  f.track->Begin(2, a);
  f.track->Begin(3, a);
  f.track->EndNamed(5, op);
  f.track->EndNamed(6, op);
  f.track->End(7);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "op[1,5) a[2,5)<0 a[3,5)<1");
  EXPECT_EQ(trace.tracks[0].unbalanced, 2);
}

TEST(Builder, OperationsAndFunctionsThatEndAcrossEachOtherAreCutInTwo) {
  Fixture f;
  const NameId op = f.Name("op", Kind::kOperation);
  Name hooked = f.builder.trace().names[f.Name("f").value];
  hooked.probe = f.builder.Text("pycall");
  const NameId function = f.builder.AddName(hooked);
  f.track->Begin(0, function);
  f.track->Begin(10, function);  // opens the operation and returns
  f.track->Begin(20, op);
  f.track->EndSpan(30);
  f.track->Begin(40, function);  // ends it and returns
  f.track->EndNamed(50, op);
  f.track->EndSpan(60);
  f.track->EndSpan(70);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]),
            "f[0,70) f[10,30)<0 op[20,30)<1 op[30,50)<0 f[40,50)<3 f[50,60)<0");
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(3, 5));
  EXPECT_EQ(trace.tracks[0].unbalanced, 0);
}

TEST(Builder, WhatCrossesEndsByNameAloneAndLeavesAllAboveItOpen) {
  Fixture f;
  Name scope = f.builder.trace().names[f.Name("scope").value];
  scope.crosses = true;
  const NameId crosses = f.builder.AddName(scope), a = f.Name("a"), b = f.Name("b");
  f.track->Begin(0, a);
  f.track->Begin(10, b);  // opens the scope and returns
  f.track->Begin(20, crosses);
  f.track->EndSpan(30);
  f.track->Begin(40, b);  // ends it and returns
  f.track->EndNamed(50, crosses);
  f.track->EndSpan(60);
  f.track->EndSpan(70);
  f.track->EndSpan(80);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]),
            "a[0,70) b[10,30)<0 scope[20,30)<1 scope[30,50)<0 b[40,50)<3 b[50,60)<0");
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(3, 5));
  EXPECT_EQ(trace.tracks[0].unbalanced, 1);
}

TEST(Builder, APlainEndNeverEndsAnOperation) {
  Fixture f;
  f.track->Begin(10, f.Name("op", Kind::kOperation));
  f.track->EndSpan(20);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "op[10,100)");
  EXPECT_EQ(trace.tracks[0].unbalanced, 1);
}

TEST(Builder, EndNamedOfASpanLeavesOperationsAboveItOpen) {
  Fixture f;
  const NameId op = f.Name("op", Kind::kOperation), a = f.Name("a");
  f.track->Begin(10, a);
  f.track->Begin(20, op);
  f.track->Begin(30, f.Name("b"));
  f.track->EndNamed(40, a);
  f.track->EndNamed(50, op);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[10,40) op[20,40)<0 b[30,40)<1 op[40,50)");
}

// A fixture whose spans named by Frame() are frames of a hook on calls.
struct FramesFixture : Fixture {
  NameId Frame(const char* text) {
    const NameId name = Name(text);
    frames.insert(name.value);
    return name;
  }
  void Runs(int64_t at, const std::vector<TrackBuilder::Running>& running) {
    track->Runs(at, running, frames);
  }
  TrackBuilder::Frames frames;
};

TEST(Builder, FramesEndWhereTheirHookGoesOutAndGoOnWhereItComesBack) {
  FramesFixture f;
  const NameId a = f.Frame("a"), b = f.Frame("b"), c = f.Frame("c"), native = f.Name("native");
  f.track->Begin(0, a);
  f.track->Begin(10, native);
  f.track->Begin(20, b);
  f.track->EndFrames(30, f.frames);
  f.Runs(50, {{a, false}, {native, true}, {c, false}});
  f.track->EndSpan(60);
  f.track->EndSpan(70);
  f.track->EndSpan(80);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]),
            "a[0,30) native[10,30)<0 b[20,30)<1 native[30,50) a[50,80) native[50,70)<4 c[50,60)<5");
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(3, 4, 5));
  EXPECT_EQ(trace.tracks[0].unbalanced, 0);
}

TEST(Builder, FramesStandBelowWhatCrosscutDoesAndAboveWhatElseIsOpen) {
  FramesFixture f;
  trace::Name ours = f.builder.trace().names[f.Name("ours").value];
  ours.layer = Layer::kOverhead;
  const NameId overhead = f.builder.AddName(ours);
  f.track->Begin(0, f.Name("operation", Kind::kOperation));
  f.track->Begin(10, overhead);
  f.Runs(20, {{f.Frame("a"), false}});
  f.track->EndNamed(30, overhead);
  f.track->EndSpan(40);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]),
            "operation[0,100) ours[10,20)<0 a[20,40)<0 ours[20,30)<2");
}

TEST(Builder, ANativeCallThatBeganUnseenBeginsWhereItIsToldToRun) {
  FramesFixture f;
  f.Runs(20, {{f.Frame("a"), false}, {f.Name("native"), true}});
  f.track->EndSpan(30);
  f.track->EndSpan(40);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[20,40) native[20,30)<0");
  EXPECT_TRUE(trace.tracks[0].spans.continued.empty());
}

TEST(Builder, SetsTimesThatRunBackwardToTheLastOneAndCountsThem) {
  Fixture f;
  f.track->Begin(10, f.Name("a"));
  f.track->End(9);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[10,10)");
  EXPECT_EQ(trace.tracks[0].clamped, 1);
}

TEST(Builder, NestsSpansTimedElsewhereAndClampsThemToTheirParents) {
  Fixture f;
  f.track->Begin(10, f.Name("a"));
  f.track->SpanAt(12, 30, f.Name("late"));
  f.track->SpanAt(5, 50, f.Name("outer"));
  f.track->End(20);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "outer[5,50) a[10,20)<0 late[12,20)<1");
  EXPECT_EQ(trace.tracks[0].clamped, 1);
}

TEST(Builder, KeepsArgsAtTheirSpansWhenSpansMove) {
  Fixture f;
  const StringId key = f.builder.Text("k");
  f.track->Begin(10, f.Name("a"));
  f.track->Arg(key, 1);
  f.track->SpanAt(5, 50, f.Name("outer"));
  f.track->Arg(key, 2);
  f.track->Instant(11, f.Name("i"));
  f.track->ArgText(key, f.builder.Text("text"));
  f.track->End(20);
  const Trace trace = f.builder.Finish();
  const Track& track = trace.tracks[0];
  ASSERT_EQ(track.args.size(), 2u);
  EXPECT_EQ(track.args.Find(0, key).value, 2);
  EXPECT_EQ(track.args.Find(1, key).value, 1);
  ASSERT_EQ(track.instant_args.size(), 1u);
  EXPECT_EQ(trace.text(track.instant_args.Find(0, key).text()), "text");
}

TEST(Builder, KeepsSpansOpenAndTheBaseUnknownWhileOff) {
  Fixture f;
  f.track->Base(0, Layer::kPython);
  f.track->Begin(20, f.Name("a"));
  f.track->Off(30);
  f.track->On(50);
  f.track->End(55);
  const Trace trace = f.builder.Finish();
  const Track& track = trace.tracks[0];
  EXPECT_EQ(Show(trace, track), "a[20,55)");
  EXPECT_THAT(track.base_at_ns, ElementsAre(0, 30, 50));
  EXPECT_THAT(track.base, ElementsAre(Layer::kPython, Layer::kNone, Layer::kPython));
}

TEST(Builder, RestartsAStackWhereItIsKnownAgain) {
  Fixture f;
  const NameId a = f.Name("a"), b = f.Name("b"), c = f.Name("c");
  f.track->Begin(10, a);
  f.track->Begin(20, b);
  f.track->Restart(30, 50, std::vector<NameId>{a, c});
  f.track->End(60);
  f.track->Restart(65, 70, {});
  f.track->End(80);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(Show(trace, trace.tracks[0]), "a[10,65) b[20,30)<0 c[50,60)<0");
  EXPECT_EQ(trace.tracks[0].unbalanced, 1);
}

TEST(Builder, MatchesArrowsInsideAProcessAndSharedOnesAcross) {
  Fixture f;
  const ProcessId other = f.builder.AddProcess("q");
  TrackBuilder& far = f.builder.AddTrack(other, TrackKind::kThread);
  const NameId a = f.Name("a");
  const uint64_t shared = uint64_t{1} << 63 | 7;
  f.track->Begin(10, a);
  f.track->FlowOut(11, 1);
  f.track->FlowOut(12, shared);
  f.track->End(20);
  f.track->Begin(30, a);
  f.track->FlowIn(31, 1);
  f.track->FlowOut(32, 2);
  far.FlowIn(33, 1);
  far.FlowIn(34, shared);
  const Trace trace = f.builder.Finish();
  ASSERT_EQ(trace.flows.size(), 2u);
  EXPECT_EQ(trace.flows[0].from, 0u);
  EXPECT_EQ(trace.flows[0].to, 1u);
  EXPECT_EQ(trace.flows[1].to_track.value, 1u);
  EXPECT_EQ(trace.flows[1].to, kNoSpan);
}

TEST(Builder, MatchesArrowsOfBothKindsWhereThereAreMany) {
  Fixture f;
  TrackBuilder& far = f.builder.AddTrack(f.builder.AddProcess("q"), TrackKind::kThread);
  constexpr uint64_t kArrows = 50'000, kShared = uint64_t{1} << 63;
  for (uint64_t i = 0; i < kArrows; ++i) {
    const auto at = static_cast<int64_t>(2 * i);
    f.track->FlowOut(at, i < 20'000 ? i : kShared | i);
    (i < 20'000 ? f.track : &far)->FlowIn(at + 1, i < 20'000 ? i : kShared | i);
  }
  const Trace trace = f.builder.Finish();
  ASSERT_EQ(trace.flows.size(), kArrows);
  for (const Flow& flow : trace.flows) {
    const auto i = static_cast<int64_t>(flow.id & ~kShared);
    ASSERT_EQ(flow.from_ns, 2 * i);
    ASSERT_EQ(flow.to_ns, 2 * i + 1);
    ASSERT_EQ(flow.to_track.value, i < 20'000 ? 0u : 1u);
  }
}

TEST(Builder, JoinsStepsOfAnyThreadAndTakesTheirsAsLead) {
  Fixture f;
  const TrackId second = f.builder.AddTrack(f.process, TrackKind::kThread).id();
  f.track->track().main = true;
  const NameId step = f.Name("step", Kind::kStep), warmup = f.Name("warm-up", Kind::kPhase);
  f.builder.PhaseBegin(second, 5, warmup);
  f.builder.StepBegin(second, 10, step);
  f.builder.StepLevel(second, 4, 0, true);
  f.builder.StepEnd(second, 35);
  f.builder.StepBegin(f.track->id(), 20, step);
  const Trace trace = f.builder.Finish();
  const Process& process = trace.processes[0];
  ASSERT_EQ(process.steps.size(), 2u);
  EXPECT_EQ(process.steps[0].number, 4);
  EXPECT_EQ(process.steps[0].level, 0);
  EXPECT_TRUE(process.steps[0].after_switch);
  EXPECT_EQ(process.steps[0].end_ns, 20);
  EXPECT_EQ(process.steps[1].number, 5);
  EXPECT_EQ(process.steps[1].end_ns, 35);
  ASSERT_EQ(process.phases.size(), 1u);
  EXPECT_EQ(process.phases[0].end_ns, 100);
  EXPECT_EQ(process.lead.value, 1u);
}

TEST(Builder, AStepThatEndsWhereThatOfAnotherThreadBeginsEndsBeforeIt) {
  Fixture f;
  const TrackId second = f.builder.AddTrack(f.process, TrackKind::kThread).id();
  const NameId step = f.Name("step", Kind::kStep);
  f.builder.StepBegin(f.track->id(), 50, step);
  f.builder.StepEnd(f.track->id(), 90);
  f.builder.StepBegin(f.track->id(), 90, step);  // an empty one
  f.builder.StepEnd(f.track->id(), 90);
  f.builder.StepBegin(second, 10, step);
  f.builder.StepEnd(second, 50);
  const Process process = f.builder.Finish().processes[0];
  ASSERT_EQ(process.steps.size(), 3u);
  EXPECT_EQ(process.steps[0].end_ns, 50);
  EXPECT_EQ(process.steps[1].begin_ns, 50);
  EXPECT_EQ(process.steps[1].end_ns, 90);
  EXPECT_EQ(process.steps[2].end_ns, 90);
}

TEST(Builder, TheLeadIsTheThreadThatMakesMostStepsWhoeverDeclaredFirst) {
  Fixture f;
  const TrackId second = f.builder.AddTrack(f.process, TrackKind::kThread).id();
  f.track->track().main = true;
  const NameId step = f.Name("step", Kind::kStep), op = f.Name("warm-up", Kind::kOperation);
  f.track->Begin(1, op);
  f.track->EndNamed(2, op);
  f.builder.StepBegin(f.track->id(), 3, step);
  for (const int64_t at : {10, 20}) f.builder.StepBegin(second, at, step);
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(trace.processes[0].lead.value, 1u);
  EXPECT_EQ(trace.processes[0].steps[0].track.value, 0u);
  EXPECT_EQ(trace.processes[0].steps[2].track.value, 1u);
}

TEST(Builder, OfThreadsInWhichOperationsAreFoundTheMainOneLeadsAndBeforeThemWhoDeclaresOne) {
  for (const int declares : {-1, 0, 1, 2}) {
    Fixture f;
    Name name = {f.builder.Text("forward"), Kind::kOperation};
    name.found = true;
    const NameId found = f.builder.AddName(name), declared = f.Name("mine", Kind::kOperation);
    const TrackId tracks[] = {f.track->id(), f.builder.AddTrack(f.process, TrackKind::kThread).id(),
                              f.builder.AddTrack(f.process, TrackKind::kThread).id()};
    f.builder.track(tracks[1]).track().main = true;
    for (int i = 0; i < 3; ++i) {  // the main thread is neither the first nor the first to find one
      TrackBuilder& track = f.builder.track(tracks[i]);
      track.Begin(10 * (3 - i), found);
      track.EndNamed(10 * (3 - i) + 5, found);
      if (i != declares) continue;
      track.Begin(100, declared);
      track.EndNamed(105, declared);
    }
    EXPECT_EQ(f.builder.Finish().processes[0].lead.value, tracks[declares < 0 ? 1 : declares].value)
        << declares;
  }
}

TEST(Builder, OfThreadsWithEquallyManyStepsTheFirstToHaveThemLeads) {
  Fixture f;
  const TrackId second = f.builder.AddTrack(f.process, TrackKind::kThread).id();
  const NameId step = f.Name("step", Kind::kStep);
  for (const int64_t at : {10, 20}) f.builder.StepBegin(second, at, step);
  for (const int64_t at : {30, 40}) f.builder.StepBegin(f.track->id(), at, step);
  EXPECT_EQ(f.builder.Finish().processes[0].lead.value, 1u);
}

TEST(Builder, AStepThatNobodyEndsEndsWithItsLastOperationElseWithItsLastSpan) {
  for (const bool operations : {true, false}) {
    Fixture f;
    const NameId step = f.Name("step", Kind::kStep);
    f.builder.StepBegin(f.track->id(), 10, step);
    f.track->SpanAt(10, 15, f.Name("forward", operations ? Kind::kOperation : Kind::kSpan));
    f.builder.StepBegin(f.track->id(), 20, step);
    f.track->SpanAt(12, 99, f.Name("around", Kind::kSpan));
    f.track->SpanAt(21, 30, f.Name("forward", operations ? Kind::kOperation : Kind::kSpan));
    f.track->SpanAt(70, 80, f.Name("exit handlers", Kind::kSpan));
    const Trace trace = f.builder.Finish();
    const std::vector<Step>& steps = trace.processes[0].steps;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_FALSE(steps[0].open);
    EXPECT_EQ(steps[0].end_ns, 20);
    EXPECT_TRUE(steps[1].open);
    EXPECT_EQ(steps[1].end_ns, operations ? 30 : 80);
  }
}

TEST(Builder, WhatBeganBeforeAStepIsNotItsWorkWhereverItIsCut) {
  Fixture f;
  const NameId around = f.Name("around", Kind::kOperation), old = f.Name("old", Kind::kOperation);
  f.track->TellsAllEnds();
  f.track->Begin(0, around);
  f.track->Begin(5, old);
  f.builder.StepBegin(f.track->id(), 20, f.Name("step", Kind::kStep));
  f.track->EndNamed(30, around);  // "old" goes on
  f.track->Begin(40, f.Name("call", Kind::kSpan));
  f.track->End(50);
  f.track->EndNamed(90, old);
  const Trace trace = f.builder.Finish();
  ASSERT_EQ(trace.tracks[0].spans.continued.size(), 1u);
  EXPECT_EQ(trace.processes[0].steps[0].end_ns, 50);
}

TEST(Builder, AStepThatNobodyEndsIsNoneIfItLacksTheOperationsOfTheOneBefore) {
  Fixture f;
  const NameId step = f.Name("step", Kind::kStep);
  f.builder.StepBegin(f.track->id(), 10, step);
  f.track->SpanAt(10, 15, f.Name("forward", Kind::kOperation));
  f.builder.StepBegin(f.track->id(), 20, step);
  f.track->SpanAt(70, 80, f.Name("exit handlers", Kind::kSpan));
  const Trace trace = f.builder.Finish();
  ASSERT_EQ(trace.processes[0].steps.size(), 2u);
  EXPECT_EQ(trace.processes[0].steps[0].end_ns, 20);
  EXPECT_EQ(trace.processes[0].steps[1].end_ns, 20);
}

TEST(Builder, AStepOfWhichNothingIsKnownEndsWhereItBegins) {
  Fixture f;
  f.builder.StepBegin(f.track->id(), 10, f.Name("step", Kind::kStep));
  const Trace trace = f.builder.Finish();
  EXPECT_EQ(trace.processes[0].steps[0].end_ns, 10);
}

// Each begins where an update ended, so behind the last one an evaluation follows, and no step.
TEST(Builder, AStepThatNobodyEndsIsNoLongerThanTheLongestOfItsKind) {
  for (const int64_t steps : {4, 5, 6}) {
    Fixture f;
    const NameId step = f.Name("step", Kind::kStep), other = f.Name("other", Kind::kStep);
    const NameId forward = f.Name("forward", Kind::kOperation);
    f.builder.StepBegin(f.track->id(), 0, other);
    for (int64_t i = 0; i <= steps; ++i) {
      const int64_t begin = i == 0 ? 20 : 20 + i * 5 + 2;  // the first is the longest
      f.builder.StepBegin(f.track->id(), begin, step);
      f.track->SpanAt(begin, begin + 1, forward);
    }
    f.track->SpanAt(90, 99, forward);
    const Trace trace = f.builder.Finish();
    const Step& last = trace.processes[0].steps.back();
    EXPECT_TRUE(last.open);
    EXPECT_EQ(last.end_ns, steps < 5 ? 99 : last.begin_ns + 7) << steps;
  }
}

TEST(Builder, AStepEndsWithItsSessionNotWithTheNextOne) {
  Fixture f;
  f.builder.process(f.process).windows = {{1, 0, 50}, {2, 70, 100}};
  const NameId step = f.Name("step", Kind::kStep);
  for (const int64_t at : {10, 40, 75}) f.builder.StepBegin(f.track->id(), at, step);
  f.builder.StepEnd(f.track->id(), 90);
  f.track->SpanAt(41, 47, f.Name("forward", Kind::kOperation));
  f.track->SpanAt(72, 74, f.Name("forward", Kind::kOperation));
  const Trace trace = f.builder.Finish();
  const std::vector<Step>& steps = trace.processes[0].steps;
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].end_ns, 40);
  EXPECT_EQ(steps[1].end_ns, 47);
  EXPECT_EQ(steps[2].end_ns, 90);
  EXPECT_TRUE(steps[1].open && !steps[0].open && !steps[2].open);
}

TEST(Builder, ASpanThatGoesOnIsNoNewOne) {
  Fixture f;
  const NameId op = f.Name("op", Kind::kOperation);
  f.track->Begin(10, op);
  f.track->EndNamed(20, op);
  f.track->GoOn(30, op);
  f.track->EndNamed(40, op);
  const Trace trace = f.builder.Finish();
  EXPECT_THAT(trace.tracks[0].spans.continued, ElementsAre(1u));
  EXPECT_EQ(trace.tracks[0].unbalanced, 0);
}

TEST(Builder, AnEarlierPartIsOneThatWasCutNotOneThatWasSuspended) {
  Fixture f;
  const NameId op = f.Name("op", Kind::kOperation), outer = f.Name("outer", Kind::kOperation);
  f.track->Begin(10, op);
  f.track->EndNamed(20, op);
  f.track->GoOn(30, op);
  EXPECT_EQ(f.track->BeginOf(1), 30);
  f.track->EndNamed(35, op);
  f.track->Begin(40, outer);
  f.track->Begin(50, op);
  f.track->EndAt(60, 0);
  EXPECT_EQ(f.track->BeginOf(4), 50);
}

TEST(Builder, SortsCounters) {
  Fixture f;
  const NameId queue = f.Name("queue", Kind::kText);
  f.builder.Count(f.process, queue, 20, 2);
  f.builder.Count(f.process, queue, 10, 1);
  const Trace trace = f.builder.Finish();
  EXPECT_THAT(trace.counters[0].value, ElementsAre(1, 2));
}

// Whatever is fed, the result nests: children inside parents, begins in order.
TEST(Builder, NestsAnythingProperly) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Fixture f;
    std::vector<NameId> names;
    for (int i = 0; i < 4; ++i) {
      names.push_back(f.Name(std::string(1, static_cast<char>('a' + i)),
                             i < 2 ? Kind::kSpan : Kind::kOperation));
    }
    int64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      now += random() % 3;
      const NameId name = names[random() % 4];
      switch (random() % 7) {
        case 0:
        case 1: f.track->Begin(now, name); break;
        case 2: random() % 2 ? f.track->End(now) : f.track->EndSpan(now); break;
        case 3: f.track->EndNamed(now, name); break;
        case 4: f.track->SpanAt(now - random() % 9, now + random() % 9, name); break;
        case 5: random() % 2 ? f.track->Off(now) : f.track->On(now); break;
        case 6: f.track->Restart(now - 2, now, std::vector<NameId>{name, names[0]}); break;
      }
    }
    const Trace trace = f.builder.Finish();
    const Spans& s = trace.tracks[0].spans;
    for (size_t i = 0; i < s.size(); ++i) {
      ASSERT_LE(s.begin_ns[i], s.end_ns[i]);
      ASSERT_LE(s.begin_ns[i == 0 ? 0 : i - 1], s.begin_ns[i]) << "seed " << seed;
      if (s.parent[i] == kNoSpan) continue;
      ASSERT_LT(s.parent[i], i);
      ASSERT_GE(s.begin_ns[i], s.begin_ns[s.parent[i]]);
      ASSERT_LE(s.end_ns[i], s.end_ns[s.parent[i]]) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace crosscut::trace
