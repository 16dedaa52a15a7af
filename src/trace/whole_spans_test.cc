#include "src/trace/whole_spans.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

struct Fixture {
  Builder builder;
  TrackBuilder* track = &builder.AddTrack(builder.AddProcess("p"), TrackKind::kThread);
  NameId Add(const char* text, Kind kind, const char* probe) {
    Name name;
    name.text = builder.Text(text);
    name.kind = kind;
    if (*probe != '\0') name.probe = builder.Text(probe);
    return builder.AddName(name);
  }
  NameId Operation(const char* text) { return Add(text, Kind::kOperation, ""); }
  NameId Function(const char* text) { return Add(text, Kind::kSpan, "pycall"); }
};

TEST(WholeSpans, SpansThatWereNotCutAreTheirOwn) {
  Fixture f;
  const NameId op = f.Operation("op");
  f.track->Begin(0, op);
  f.track->EndNamed(10, op);
  f.track->Begin(10, op);
  f.track->EndNamed(20, op);
  const Trace trace = f.builder.Finish();
  const WholeSpans wholes(trace.tracks[0].spans);
  EXPECT_EQ(wholes.first(1), 1u);
  EXPECT_EQ(wholes.end_ns(0), 10);
}

TEST(WholeSpans, AScopeThatAFunctionOpensAndAnotherClosesIsOne) {
  Fixture f;
  const NameId op = f.Operation("scope"), enter = f.Function("enter"), exit = f.Function("exit");
  for (int64_t at : {0, 100}) {
    f.track->Begin(at, enter);
    f.track->Begin(at + 5, op);
    f.track->EndSpan(at + 10);
    f.track->Begin(at + 50, exit);
    f.track->EndNamed(at + 55, op);
    f.track->EndSpan(at + 60);
  }
  const Trace trace = f.builder.Finish();
  const Spans& spans = trace.tracks[0].spans;
  const WholeSpans wholes(spans);
  std::vector<std::pair<int64_t, int64_t>> scopes, functions;
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (wholes.first(i) != i) continue;
    (spans.name[i] == op ? scopes : functions).emplace_back(spans.begin_ns[i], wholes.end_ns(i));
  }
  using Ends = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(scopes, (Ends{{5, 55}, {105, 155}}));
  EXPECT_EQ(functions, (Ends{{0, 10}, {50, 60}, {100, 110}, {150, 160}}));
}

TEST(WholeSpans, OfNamesakesThatEndTogetherTheOneThatWasCutGoesOn) {
  Fixture f;
  const NameId op = f.Operation("op");
  f.track->Begin(0, op);
  f.track->Begin(10, op);
  f.track->EndAt(20, 0);  // the outer one
  f.track->EndNamed(30, op);
  const Trace trace = f.builder.Finish();
  const WholeSpans wholes(trace.tracks[0].spans);
  EXPECT_EQ(wholes.end_ns(0), 20);
  EXPECT_EQ(wholes.end_ns(1), 30);
  EXPECT_EQ(wholes.first(2), 1u);
}

TEST(WholeSpans, WhereItIsNotToldAPartGoesOnWithTheOneThatEndedThere) {
  Fixture f;
  const NameId op = f.Operation("op");
  f.track->Begin(0, op);
  f.track->EndNamed(10, op);
  f.track->GoOn(10, op);
  f.track->EndNamed(20, op);
  f.track->GoOn(25, op);  // it was suspended
  f.track->EndNamed(30, op);
  const Trace trace = f.builder.Finish();
  const WholeSpans wholes(trace.tracks[0].spans);
  EXPECT_EQ(wholes.end_ns(0), 20);
  EXPECT_EQ(wholes.first(2), 2u);
}

// A generator that calls itself: each part ended with what was around it. Counted one by one, the
// second would take minutes.
TEST(WholeSpans, EndedInsideCountsNamesakesThatEndTogether) {
  Fixture f;
  const NameId op = f.Operation("op"), other = f.Operation("other");
  constexpr uint32_t kDeep = 200'000;
  for (uint32_t i = 0; i < kDeep; ++i) f.track->Begin(5, i % 2 == 0 ? op : other);
  for (uint32_t i = 0; i < kDeep; ++i) f.track->End(i == 0 ? 9 : 10);
  const Trace trace = f.builder.Finish();
  EndedInside ended(trace.tracks[0].spans);
  EXPECT_EQ(ended.Of(kDeep - 1), 0u) << "it ended before";
  EXPECT_EQ(ended.Of(kDeep - 2), 0u);
  for (uint32_t i = 0; i < kDeep - 1; ++i) {
    ASSERT_EQ(ended.Of(i), (kDeep - 2 - i) / 2) << i;
  }
}

// As many as a damaged log may tell of one instant.
TEST(WholeSpans, PartsThatEndAtOnceAreNotPassedOneByOne) {
  Fixture f;
  const NameId op = f.Operation("op");
  f.track->Begin(5, op);
  f.track->End(10);
  constexpr int kParts = 200'000;
  for (int i = 0; i < kParts; ++i) {
    f.track->GoOn(10, op);
    f.track->GoesOnWith(10, 0);
    f.track->End(10);
  }
  const Trace trace = f.builder.Finish();
  const Spans& spans = trace.tracks[0].spans;
  ASSERT_EQ(spans.parts_before.size(), size_t{kParts});
  EXPECT_EQ(spans.parts_before.front(), 0u);
  EXPECT_EQ(spans.parts_before.back(), 0u);
}

}  // namespace
}  // namespace crosscut::trace
