// Spans of one track that end across each other: what they are cut into is no square of them, and
// the innermost one is right at each instant.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

struct Crossing {
  Builder builder;
  TrackBuilder* track = &builder.AddTrack(builder.AddProcess("p"), TrackKind::kThread);
  NameId Add(int number) {
    Name name;
    name.text = builder.Text("n" + std::to_string(number));
    name.kind = Kind::kOperation;
    name.crosses = true;
    return builder.AddName(name);
  }
};

// By instant of [0, end): the name of the innermost span; none where none is open.
std::vector<NameId> InnermostOf(const Spans& spans, int64_t end) {
  std::vector<NameId> out(static_cast<size_t>(end), NameId::None());
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    for (int64_t at = spans.begin_ns[i]; at < spans.end_ns[i]; ++at) {
      out[static_cast<size_t>(at)] = spans.name[i];
    }
  }
  return out;
}

void ExpectNested(const Spans& spans) {
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    ASSERT_LE(spans.begin_ns[i], spans.end_ns[i]);
    ASSERT_LE(spans.begin_ns[i == 0 ? 0 : i - 1], spans.begin_ns[i]);
    const SpanIndex parent = spans.parent[i];
    if (parent == kNoSpan) continue;
    ASSERT_LT(parent, i);
    ASSERT_LE(spans.begin_ns[parent], spans.begin_ns[i]);
    ASSERT_GE(spans.end_ns[parent], spans.end_ns[i]);
  }
}

TEST(Outlived, ManyThatEndInTheOrderOfTheirBeginsMakeFewParts) {
  for (const int many : {40, 3000}) {
    Crossing c;
    std::vector<NameId> names;
    for (int i = 0; i < many; ++i) names.push_back(c.Add(i));
    for (int i = 0; i < many; ++i) c.track->Begin(i, names[static_cast<size_t>(i)]);
    for (int i = 0; i < many; ++i) c.track->EndNamed(many + i, names[static_cast<size_t>(i)]);
    const Trace trace = c.builder.Finish();
    const Track& track = trace.tracks[0];
    EXPECT_LT(track.spans.size(), size_t{70} * static_cast<size_t>(many));
    EXPECT_EQ(track.unbalanced, 0);
    ExpectNested(track.spans);
    const std::vector<NameId> innermost = InnermostOf(track.spans, 2 * many);
    for (int i = 0; i < many; ++i) {
      ASSERT_EQ(innermost[static_cast<size_t>(i)], names[static_cast<size_t>(i)]);
      ASSERT_EQ(innermost[static_cast<size_t>(many + i) - 1], names.back());
    }
    // Each has its end, be it as the end of its last part or as the one that is stated.
    std::vector<int64_t> end(static_cast<size_t>(many));
    for (SpanIndex i = 0; i < track.spans.size(); ++i) {
      int64_t& last = end[track.spans.name[i].value - names[0].value];
      last = std::max(last, track.spans.StatedEnd(i));
    }
    for (int i = 0; i < many; ++i) ASSERT_EQ(end[static_cast<size_t>(i)], many + i);
    EXPECT_EQ(track.spans.stated_ends.size() > 0, many > 1000);
    EXPECT_EQ(trace.gaps.size(), many > 1000 ? 1u : 0u);
  }
}

TEST(Outlived, TheInnermostIsThatOfAStackAtEachInstant) {
  size_t outlived = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Crossing c;
    std::vector<NameId> names, open, expected;
    for (int i = 0; i < 600; ++i) names.push_back(c.Add(i));
    std::vector<NameId> closed = names;
    const size_t deep = 50 + random() % 500;
    for (int64_t at = 0; at < 4000; ++at) {
      const bool begins = open.size() < deep / 2 || (open.size() < deep && random() % 2 == 0);
      std::vector<NameId>& from = begins ? closed : open;
      // Rather at the bottom, where much lies above.
      const size_t which = begins ? random() % from.size() : random() % (1 + from.size() / 8);
      const NameId name = from[which];
      from.erase(from.begin() + static_cast<ptrdiff_t>(which));
      (begins ? open : closed).push_back(name);
      if (begins) {
        c.track->Begin(at, name);
      } else {
        c.track->EndNamed(at, name);
      }
      expected.push_back(open.empty() ? NameId::None() : open.back());
    }
    c.track->Finish(0, 4000);
    const Trace trace = c.builder.Finish();
    const Track& track = trace.tracks[0];
    ExpectNested(track.spans);
    EXPECT_EQ(InnermostOf(track.spans, 4000), expected) << seed;
    EXPECT_LT(track.spans.size(), 70u * 4000) << seed;
    outlived += track.spans.stated_ends.size();
  }
  EXPECT_GT(outlived, 0u);
}

}  // namespace
}  // namespace crosscut::trace
