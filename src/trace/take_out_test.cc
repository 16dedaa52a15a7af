// Spans that are taken out of a track, because their ends were found on another: what is left is
// what the same track has without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

// A track of drawn begins and ends, of which `take` chooses from those without an end of their own.
struct Made {
  Trace trace;
  std::vector<SpanIndex> taken;  // as they were chosen
};
template <class Take>
Made Make(uint64_t seed, Take take) {
  std::mt19937_64 random(seed);
  Builder builder;
  const ProcessId process = builder.AddProcess("p");
  builder.process(process).end_ns = 1000;
  TrackBuilder& track = builder.AddTrack(process, TrackKind::kThread);
  std::vector<NameId> names;
  for (int i = 0; i < 6; ++i) {
    Name name;
    name.text = builder.Text("n" + std::to_string(i));
    name.kind = i < 2 ? Kind::kOperation : Kind::kSpan;
    name.crosses = i == 2;
    if (i == 3) name.probe = builder.Text("probe");
    names.push_back(builder.AddName(name));
  }
  const StringId key = builder.Text("key");
  int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    at += static_cast<int64_t>(random() % 4);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        track.Begin(at, names[random() % names.size()]);
        if (random() % 2 == 0) track.Arg(key, i);
        break;
      case 3:
      case 4: track.EndSpan(at); break;
      case 5: track.EndNamed(at, names[random() % names.size()]); break;
      case 6: track.FlowOut(at, random() % 8); break;
      default: track.FlowIn(at, random() % 8); break;
    }
  }
  Made made;
  made.taken = take(track.Unended(), &random);
  if (!made.taken.empty()) track.TakeOut(made.taken);
  track.Finish(0, 1000);
  made.trace = builder.Finish();
  return made;
}

using Arrows = std::multiset<std::tuple<uint64_t, SpanIndex, SpanIndex>>;

// Arrows between spans, by their places.
Arrows ArrowsOf(const Trace& trace, const std::vector<SpanIndex>* place = nullptr) {
  Arrows out;
  for (const Flow& flow : trace.flows) {
    const auto at = [&](SpanIndex span) {
      return place == nullptr || span == kNoSpan ? span : (*place)[span];
    };
    out.emplace(flow.id, at(flow.from), at(flow.to));
  }
  return out;
}

TEST(TakeOut, LeavesWhatThereIsWithoutThem) {
  int taken_spans = 0, parts = 0, moved = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Made made = Make(seed, [](std::vector<SpanIndex> unended, std::mt19937_64* random) {
      std::erase_if(unended, [&](SpanIndex) { return (*random)() % 2 == 0; });
      return unended;
    });
    if (made.taken.empty()) continue;
    const Made whole = Make(
        seed, [](std::vector<SpanIndex>, std::mt19937_64*) { return std::vector<SpanIndex>(); });
    const Track &got = made.trace.tracks[0], &all = whole.trace.tracks[0];
    const Spans& spans = all.spans;
    std::map<SpanIndex, SpanIndex> before;
    for (size_t i = 0; i < spans.continued.size(); ++i) {
      before[spans.continued[i]] = spans.parts_before[i];
    }
    std::set<SpanIndex> gone;
    for (SpanIndex span : made.taken) {
      gone.insert(span);
      while (before.contains(span) && spans.end_ns[before[span]] == spans.begin_ns[span]) {
        gone.insert(span = before[span]);
        ++parts;
      }
    }
    taken_spans += static_cast<int>(gone.size());
    std::vector<SpanIndex> place(spans.size());
    SpanIndex next = 0;
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const SpanIndex parent = spans.parent[i] == kNoSpan ? kNoSpan : place[spans.parent[i]];
      place[i] = gone.contains(i) ? parent : next;
      if (gone.contains(i)) continue;
      ASSERT_LT(next, got.spans.size()) << seed;
      EXPECT_EQ(got.spans.begin_ns[next], spans.begin_ns[i]) << seed;
      EXPECT_EQ(got.spans.end_ns[next], spans.end_ns[i]) << seed;
      EXPECT_EQ(got.spans.name[next].value, spans.name[i].value) << seed;
      EXPECT_EQ(got.spans.parent[next], parent) << seed;
      std::vector<int64_t> values, expected;
      for (const Arg& arg : got.args.of(next)) values.push_back(arg.value);
      for (const Arg& arg : all.args.of(i)) expected.push_back(arg.value);
      EXPECT_EQ(values, expected) << seed;
      moved += next != i ? 1 : 0;
      ++next;
    }
    ASSERT_EQ(got.spans.size(), next) << seed;
    std::vector<SpanIndex> continued, parts_before;
    for (const auto& [span, part] : before) {
      if (gone.contains(span) || gone.contains(part)) continue;
      continued.push_back(place[span]);
      parts_before.push_back(place[part]);
    }
    EXPECT_EQ(got.spans.continued, continued) << seed;
    EXPECT_EQ(got.spans.parts_before, parts_before) << seed;
    EXPECT_EQ(ArrowsOf(made.trace), ArrowsOf(whole.trace, &place)) << seed;
    if (HasFailure()) return;
  }
  EXPECT_GT(taken_spans, 1000);
  EXPECT_GT(parts, 100);
  EXPECT_GT(moved, 1000);
}

}  // namespace
}  // namespace crosscut::trace
