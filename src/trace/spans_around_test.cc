#include "src/trace/spans_around.h"

#include <gtest/gtest.h>

#include <random>

namespace crosscut::trace {
namespace {

// Spans that nest at random, by their depth first: some touch, some are empty.
Spans RandomSpans(std::mt19937_64* random) {
  Spans spans;
  std::vector<SpanIndex> open;
  int64_t at = 0;
  for (int i = 0; i < 200; ++i) {
    at += static_cast<int64_t>((*random)() % 4);
    while (!open.empty() && (*random)() % 3 == 0) {
      spans.end_ns[open.back()] = at;
      open.pop_back();
      at += static_cast<int64_t>((*random)() % 3);
    }
    spans.begin_ns.push_back(at);
    spans.end_ns.push_back(0);
    spans.name.push_back({static_cast<uint32_t>((*random)() % 5)});
    spans.parent.push_back(open.empty() ? kNoSpan : open.back());
    open.push_back(static_cast<SpanIndex>(spans.size() - 1));
  }
  for (; !open.empty(); open.pop_back()) {
    at += static_cast<int64_t>((*random)() % 3);
    spans.end_ns[open.back()] = at;
  }
  return spans;
}

TEST(SpansAround, AreThoseOfAWalkOverTheParents) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Trace trace;
    for (int t = 0; t < 2; ++t) trace.tracks.emplace_back().spans = RandomSpans(&random);
    const auto counts = [&](TrackId track, SpanIndex span) {
      return trace.tracks[track.value].spans.name[span].value == 2;
    };
    SpansAround inner(trace, counts), outer(trace, counts, SpansAround::Which::kOutermost);
    for (uint32_t t = 0; t < 2; ++t) {
      const Spans& spans = trace.tracks[t].spans;
      EXPECT_EQ(inner.Of({t}, kNoSpan), kNoSpan);
      for (SpanIndex i = 0; i < spans.size(); ++i) {
        SpanIndex first = kNoSpan, last = kNoSpan;
        for (SpanIndex s = i; s != kNoSpan; s = spans.parent[s]) {
          if (!counts({t}, s)) continue;
          if (first == kNoSpan) first = s;
          last = s;
        }
        ASSERT_EQ(inner.Of({t}, i), first) << seed;
        ASSERT_EQ(outer.Of({t}, i), last) << seed;
      }
    }
  }
}

TEST(OpenSpans, AreThoseOfAWalkOverTheParents) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const Spans spans = RandomSpans(&random);
    const OpenSpans open(spans);
    for (int64_t at = -1; at <= spans.end_ns[0] + 2; ++at) {
      // The latest to begin of all that hold the instant, of several the innermost.
      SpanIndex last = kNoSpan;
      for (SpanIndex i = 0; i < spans.size() && spans.begin_ns[i] <= at; ++i) last = i;
      SpanIndex holds = last, touches = last;
      while (holds != kNoSpan && spans.end_ns[holds] <= at) holds = spans.parent[holds];
      while (touches != kNoSpan && spans.end_ns[touches] < at) touches = spans.parent[touches];
      ASSERT_EQ(open.InnermostAt(at), holds) << seed << " at " << at;
      ASSERT_EQ(open.InnermostTouching(at), touches) << seed << " at " << at;
    }
  }
}

}  // namespace
}  // namespace crosscut::trace
