// What a builder joins at the end, beside a plain search over everything: arrows and pauses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

struct End {
  uint64_t id;
  uint32_t track;
  int64_t at;
  bool out;
};
using Arrow = std::tuple<uint64_t, uint32_t, uint32_t, int64_t, int64_t>;
struct Matched {
  std::multiset<Arrow> arrows;
  uint64_t dangling[4] = {}, repeated[4] = {};
};

// An arrival belongs to the latest departure that is not behind it, of equal times that of the last
// track; where all are behind it, to the first. Ids with the top bit are the whole trace's, others
// each process's own.
Matched MatchPlainly(const std::vector<End>& ends, const std::vector<uint32_t>& process_of) {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<End>> groups;
  for (const End& end : ends) {
    groups[{end.id, end.id >> 63 != 0 ? 0 : process_of[end.track]}].push_back(end);
  }
  Matched out;
  for (const auto& [key, group] : groups) {
    const uint64_t bits = key.first >> 62;
    const auto before = [](const End& a, const End& b) {
      return std::pair(a.at, a.track) < std::pair(b.at, b.track);
    };
    std::vector<const End*> departures, arrivals;
    for (const End& end : group) (end.out ? departures : arrivals).push_back(&end);
    if (departures.empty()) {
      out.dangling[bits] += arrivals.size();
      continue;
    }
    std::set<std::pair<int64_t, uint32_t>> left;  // departures that somebody belongs to
    for (const End* arrival : arrivals) {
      const End *latest = nullptr, *first = nullptr;
      for (const End* departure : departures) {
        if (first == nullptr || before(*departure, *first)) first = departure;
        if (departure->at > arrival->at) continue;
        if (latest == nullptr || before(*latest, *departure)) latest = departure;
      }
      const End* from = latest != nullptr ? latest : first;
      left.emplace(from->at, from->track);
      out.arrows.emplace(arrival->id, from->track, arrival->track, from->at, arrival->at);
    }
    for (const End* departure : departures) {
      if (left.contains({departure->at, departure->track})) continue;
      ++out.dangling[bits];
      for (const End* arrival : arrivals) {
        if (arrival->at < departure->at) continue;
        ++out.repeated[bits];
        break;
      }
    }
  }
  return out;
}

TEST(Arrows, AreThoseOfAPlainSearch) {
  std::mt19937_64 random(3);
  size_t arrows = 0, dangling = 0, repeated = 0;
  for (int round = 0; round < 3000; ++round) {
    Builder builder;
    std::vector<uint32_t> process_of;
    std::vector<TrackBuilder*> tracks;
    for (uint32_t p = 0; p < 2; ++p) {
      const ProcessId process = builder.AddProcess(p == 0 ? "a" : "b");
      for (int t = 0; t < 2; ++t) {
        tracks.push_back(&builder.AddTrack(process, TrackKind::kThread));
        process_of.push_back(p);
      }
    }
    // No two departures of one id at one time of one track: which of these is meant says nobody.
    std::set<std::tuple<uint64_t, uint32_t, int64_t>> departures;
    std::vector<End> ends;
    for (uint64_t i = random() % 12; i > 0; --i) {
      End end = {(random() % 4) << 62 | random() % 2, static_cast<uint32_t>(random() % 4),
                 static_cast<int64_t>(random() % 6), random() % 2 == 0};
      if (end.out && !departures.emplace(end.id, end.track, end.at).second) continue;
      ends.push_back(end);
    }
    std::stable_sort(ends.begin(), ends.end(),
                     [](const End& a, const End& b) { return a.at < b.at; });
    for (const End& end : ends) {
      end.out ? tracks[end.track]->FlowOut(end.at, end.id)
              : tracks[end.track]->FlowIn(end.at, end.id);
    }
    const Matched expected = MatchPlainly(ends, process_of);
    const Trace trace = builder.Finish();
    std::multiset<Arrow> got;
    for (const Flow& flow : trace.flows) {
      got.emplace(flow.id, flow.from_track.value, flow.to_track.value, flow.from_ns, flow.to_ns);
    }
    ASSERT_EQ(got, expected.arrows) << round;
    arrows += got.size();
    for (unsigned bits = 0; bits < 4; ++bits) {
      ASSERT_EQ(builder.DanglingFlows(bits), expected.dangling[bits]) << round;
      ASSERT_EQ(builder.RepeatedFlows(bits), expected.repeated[bits]) << round;
      dangling += expected.dangling[bits];
      repeated += expected.repeated[bits];
    }
  }
  EXPECT_GT(arrows, 1000u);
  EXPECT_GT(dangling, 1000u);
  EXPECT_GT(repeated, 100u);
}

// Of one time they stay as they came, with what belongs to them.
TEST(Counters, AndInstantsAreInOrderOfTimeAndThenAsTheyCame) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    Builder builder;
    const ProcessId process = builder.AddProcess("p");
    TrackBuilder& track = builder.AddTrack(process, TrackKind::kThread);
    const StringId key = builder.Text("number");
    Name name;
    name.text = builder.Text("n");
    const NameId id = builder.AddName(name);
    std::vector<std::pair<int64_t, int64_t>> expected;
    const auto count = static_cast<int64_t>(random() % 40);
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<int64_t>(random() % 5);
      expected.emplace_back(at, i);
      builder.Count(process, id, at, i);
      track.Instant(at, id);
      track.Arg(key, i);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const Trace trace = builder.Finish();
    std::vector<std::pair<int64_t, int64_t>> series, instants;
    for (size_t i = 0; count > 0 && i < trace.counters[0].at_ns.size(); ++i) {
      series.emplace_back(trace.counters[0].at_ns[i], trace.counters[0].value[i]);
    }
    const Track& made = trace.tracks[0];
    for (uint32_t i = 0; i < made.instants.at_ns.size(); ++i) {
      instants.emplace_back(made.instants.at_ns[i], made.instant_args.Find(i, key).value);
    }
    ASSERT_EQ(series, expected) << round;
    ASSERT_EQ(instants, expected) << round;
  }
}

TEST(Pauses, AreInOrderAndNoTwoTouch) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    Builder builder;
    const ProcessId process = builder.AddProcess("p");
    std::vector<bool> paused(40);
    for (uint64_t i = random() % 6; i > 0; --i) {
      const auto begin = static_cast<int64_t>(random() % 30);
      const int64_t end = begin + static_cast<int64_t>(random() % 8) - 1;
      builder.process(process).paused.push_back({begin, end});
      for (int64_t ns = begin; ns < end; ++ns) paused[static_cast<size_t>(ns)] = true;
    }
    const Trace trace = builder.Finish();
    std::vector<bool> got(40);
    int64_t last = INT64_MIN;
    for (const Interval& pause : trace.processes[0].paused) {
      ASSERT_LT(last, pause.begin_ns);
      ASSERT_LT(pause.begin_ns, pause.end_ns);
      last = pause.end_ns;
      for (int64_t ns = pause.begin_ns; ns < pause.end_ns; ++ns)
        got[static_cast<size_t>(ns)] = true;
    }
    ASSERT_EQ(got, paused) << round;
  }
}

}  // namespace
}  // namespace crosscut::trace
