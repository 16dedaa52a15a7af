#include "src/analyze/verdict/thread_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using testing::RandomTrace;
using testing::TestTrace;

using Key = std::vector<uint32_t>;  // level, names or layer
const Key kNoKey;

// The definition of docs/verdict.md, instant by instant.
class ByDefinition {
 public:
  ByDefinition(const ThreadView& thread, const std::vector<ThreadSample>& samples)
      : window_(thread.window), steps_(thread.steps), samples_(samples) {
    LeadCursor cursor(thread.trace, thread.track, thread.doing, window_);
    for (int64_t at = window_.begin_ns; at < window_.end_ns; ++at) {
      states_.push_back(cursor.At(at));
      const auto in = [at](const std::vector<trace::Interval>& times) {
        return std::any_of(times.begin(), times.end(),
                           [at](const auto& i) { return i.begin_ns <= at && at < i.end_ns; });
      };
      off_.push_back(in(thread.off));
      marks_.push_back(in(thread.marks));
    }
    for (size_t i = 0; i < states_.size(); ++i) {
      keys_.push_back(KeysAt(i));
      for (uint32_t level = 0; level < kKeys; ++level) {
        if (keys_[i][level] == kNoKey) continue;
        keys_[i][level].push_back(level);
        keys_[i][level].push_back(PartOf(window_.begin_ns + static_cast<int64_t>(i)));
        keys_[i][level].push_back(marks_[i]);
      }
    }
    std::map<Key, int64_t> clocks;
    for (size_t i = 0; i < states_.size(); ++i) {
      for (const Key& key : keys_[i]) clock_[key].push_back(key == kNoKey ? 0 : clocks[key]++);
      for (const Key& key : keys_[i]) at_[key].push_back(i);
    }
  }

  // The index of the sample that tells of it; -1: none does.
  int64_t SampleAt(int64_t at_ns) const {
    const auto i = static_cast<size_t>(at_ns - window_.begin_ns);
    for (size_t level = 0; level < kKeys; ++level) {
      const Key& key = keys_[i][level];
      const int64_t reach = ReachOf(level);
      if (key == kNoKey) continue;
      const int64_t now = ClockAt(key, i);
      const std::vector<size_t> of_state = OfState(key);
      const auto place = [&](size_t s) { return PlaceOf(of_state[s]); };
      size_t nearest = 0;
      for (size_t s = 1; s < of_state.size(); ++s) {
        const int64_t away = std::abs(ClockAt(key, place(s)) - now),
                      least = std::abs(ClockAt(key, place(nearest)) - now);
        // Of some in one instant, the first has what is before it, and the last what is behind.
        if (place(s) == place(nearest) ? ClockAt(key, place(s)) < now : away < least) nearest = s;
      }
      size_t aside = level == 3 || level > 4 || IsCut(i) ? 0 : 8;
      const auto next_to = [&](size_t s) { return s + aside >= nearest && s <= nearest + aside; };
      bool mixed = false;
      for (size_t s = 0; s < of_state.size(); ++s) {
        mixed |= next_to(s) && LineOf(of_state[s]) != LineOf(of_state[nearest]);
      }
      const auto reaches = [&](size_t s) {
        return std::abs(ClockAt(key, place(s)) - now) <= reach * samples_[of_state[s]].covers_ns;
      };
      // Of the two around the instant, the nearest that reaches so far.
      const bool may = level <= 2 || level == 4;
      if (may && !mixed && !of_state.empty() && !reaches(nearest)) {
        const size_t other = ClockAt(key, place(nearest)) < now ? nearest + 1 : nearest - 1;
        if (other < of_state.size()) nearest = other;
      }
      if (!mixed) aside = 0;
      int64_t told = -1;
      std::pair<int64_t, int64_t> least;
      for (size_t s = 0; s < of_state.size(); ++s) {
        if (!next_to(s) || !reaches(s)) continue;
        auto unlike = Unlike(i, place(s));
        unlike.first += static_cast<int64_t>(s > nearest ? s - nearest : nearest - s);
        if (told >= 0 && unlike >= least) continue;
        told = static_cast<int64_t>(of_state[s]);
        least = unlike;
      }
      if (told >= 0) return told;
    }
    return -1;
  }

  // A sample's own line, or that of a sample next to it, where its stack is cut.
  Line LineOf(size_t sample) const {
    if (!samples_[sample].cut) return samples_[sample].line;
    const size_t i = PlaceOf(sample);
    for (size_t level = 0; level < kKeys && i < keys_.size(); ++level) {
      const Key& key = keys_[i][level];
      if (key == kNoKey) continue;
      const std::vector<size_t> of_state = OfState(key);
      const auto n = static_cast<int64_t>(of_state.size());
      const int64_t at = std::find(of_state.begin(), of_state.end(), sample) - of_state.begin();
      std::map<int64_t, Line> lines;  // by how far the sample is apart
      for (int64_t other = std::max<int64_t>(0, at - 8); other < std::min(n, at + 9); ++other) {
        const ThreadSample& by = samples_[of_state[static_cast<size_t>(other)]];
        const size_t place = PlaceOf(of_state[static_cast<size_t>(other)]);
        const int64_t apart = std::abs(ClockAt(key, place) - ClockAt(key, i));
        const bool reaches = apart <= ReachOf(level) * by.covers_ns;
        if (reaches && by.line.kind != LineKind::kNone) lines.try_emplace(apart, by.line);
      }
      if (!lines.empty()) return lines.begin()->second;
    }
    return {};
  }

 private:
  static int64_t ReachOf(size_t level) { return level == 3 || level > 4 ? 3 : 10; }
  size_t PlaceOf(size_t sample) const {
    return static_cast<size_t>(samples_[sample].at_ns - window_.begin_ns);
  }
  // The samples with that key, in order of time.
  std::vector<size_t> OfState(const Key& key) const {
    std::vector<size_t> out;
    for (size_t s = 0; s < samples_.size(); ++s) {
      if (PlaceOf(s) >= keys_.size()) continue;
      const std::array<Key, kKeys>& keys = keys_[PlaceOf(s)];
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) out.push_back(s);
    }
    return out;
  }
  uint32_t PartOf(int64_t at_ns) const {
    if (steps_.begin_ns >= steps_.end_ns) return 0;
    return at_ns < steps_.begin_ns ? 1 : at_ns < steps_.end_ns ? 2 : 3;
  }
  // The begin and the end of what lies around `i` without a change of its state.
  std::pair<int64_t, int64_t> PieceOf(size_t i) const {
    const auto part = [&](size_t at) {
      return PartOf(window_.begin_ns + static_cast<int64_t>(at));
    };
    const auto goes_on = [&](size_t a, size_t b) {
      return BeginOf(a) == BeginOf(b) && off_[a] == off_[b] && marks_[a] == marks_[b] &&
             part(a) == part(b);
    };
    size_t begin = i, end = i + 1;
    while (begin > 0 && goes_on(begin - 1, i)) --begin;
    while (end < states_.size() && goes_on(end, i)) ++end;
    return {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
  }
  // Twice how far the instants' places in their pieces are apart, from begin or from end; and the
  // middle of both, by which the earlier one tells where two are as far.
  std::pair<int64_t, int64_t> Unlike(size_t i, size_t other) const {
    const auto [begin, end] = PieceOf(i);
    const auto [its_begin, its_end] = PieceOf(other);
    const auto at = static_cast<int64_t>(i), its = static_cast<int64_t>(other);
    const int64_t by_begin = (at - begin) - (its - its_begin),
                  by_end = (end - at) - (its_end - its);
    return {2 * std::max(std::abs(by_begin), std::abs(by_end)), by_end - by_begin};
  }
  bool IsPython(size_t i) const { return !states_[i].name.valid(); }
  bool Alike(size_t a, size_t b) const {
    return IsPython(a) && IsPython(b) && states_[a].layer == states_[b].layer &&
           states_[a].doing == states_[b].doing && states_[a].operation == states_[b].operation;
  }
  // Where the stretch of `i` begins: a call's goes on while nothing changes.
  size_t BeginOf(size_t i) const {
    while (i > 0 &&
           (IsPython(i) ? Alike(i - 1, i) : states_[i - 1].begin_ns == states_[i].begin_ns)) {
      --i;
    }
    return i;
  }
  // Python between whose begin or end and other Python garbage was collected.
  bool IsCut(size_t i) const {
    if (!IsPython(i)) return false;
    const size_t begin = BeginOf(i);
    size_t end = i + 1;
    while (end < states_.size() && Alike(end, i)) ++end;
    return (begin > 0 && states_[begin - 1].doing == Doing::kCollecting) ||
           (end < states_.size() && states_[end].doing == Doing::kCollecting);
  }
  // The name of the call before the stretch that begins at `i`, which moves to that call's begin.
  trace::NameId Before(size_t* i) const {
    while (*i > 0) {
      const LeadStretch& last = states_[*i - 1];
      *i = BeginOf(*i - 1);
      if (last.name.valid() && last.doing != Doing::kCollecting) return last.name;
    }
    return {};
  }
  std::array<Key, kKeys> KeysAt(size_t i) const {
    const LeadStretch& state = states_[i];
    std::array<Key, kKeys> keys;
    keys.fill(kNoKey);
    if (off_[i] || state.layer == trace::Layer::kOverhead) return keys;
    size_t at = BeginOf(i);
    std::vector<uint32_t> before;
    while (before.size() < 4) before.push_back(Before(&at).value);
    const uint32_t operation = state.operation.value, layer = static_cast<uint32_t>(state.layer);
    Key of_state = {0, state.name.value};
    if (IsPython(i)) {
      size_t end = i;
      while (end + 1 < states_.size() && Alike(end + 1, i)) ++end;
      trace::NameId next;
      if (end + 1 < states_.size()) next = states_[end + 1].name;
      of_state = {1, before[0], next.value};
      if (IsCut(i)) of_state = {2, before[0]};
    }
    keys[4] = keys[2] = of_state;
    keys[2].push_back(operation);
    keys[1] = keys[0] = keys[2];
    keys[1].push_back(before[IsPython(i) ? 1 : 0]);
    keys[0].insert(keys[0].end(), before.begin(), before.end());
    if (!trace::IsOfHost(state.layer) || state.layer == trace::Layer::kIdle) return keys;
    keys[3] = {3, layer, operation};
    keys[5] = {5, layer};
    keys[6] = {6};
    return keys;
  }
  int64_t ClockAt(const Key& key, size_t i) const {
    const std::vector<size_t>& at = at_.at(key);
    const auto found = std::lower_bound(at.begin(), at.end(), i);
    return clock_.at(key)[static_cast<size_t>(found - at.begin())];
  }

  const trace::Interval window_, steps_;
  const std::vector<ThreadSample>& samples_;
  std::vector<LeadStretch> states_;
  std::vector<bool> off_, marks_;
  std::vector<std::array<Key, kKeys>> keys_;
  std::map<Key, std::vector<int64_t>> clock_;
  std::map<Key, std::vector<size_t>> at_;
};

std::vector<Doing> DoingOfRandom(const trace::Trace& trace, uint64_t seed) {
  std::vector<Doing> doing = DoingByName(trace);
  for (size_t n = 0; n < doing.size() && seed % 2 == 0; ++n) {
    if (trace.text(trace.names[n].text) == "a") doing[n] = Doing::kCollecting;
  }
  return doing;
}

TEST(ThreadLines, AreThoseOfTheirDefinitionOnAThousandTraces) {
  size_t known = 0, checked = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const std::vector<Doing> doing = DoingOfRandom(trace, seed);
    std::mt19937_64 engine(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(n));
    };
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
      const trace::Track& track = trace.tracks[t];
      if (track.kind != trace::TrackKind::kThread) continue;
      const trace::Process& p = trace.processes[track.process.value];
      const trace::Interval window = {p.start_ns, p.end_ns};
      const int64_t length = window.end_ns - window.begin_ns;
      if (length <= 0) continue;
      std::vector<trace::Interval> off, marks;
      for (std::vector<trace::Interval>* times : {&off, &marks}) {
        if (below(2) == 0) continue;
        const int64_t begin = window.begin_ns + below(length);
        times->push_back({begin, std::min(window.end_ns, begin + 1 + below(length))});
      }
      std::vector<ThreadSample> samples(static_cast<size_t>(below(12)));
      for (ThreadSample& sample : samples) {
        sample.at_ns = window.begin_ns + below(length);
        sample.covers_ns = below(below(2) == 0 ? 3 : length / 4 + 2);
        sample.cut = below(4) == 0;
        if (!sample.cut) sample.line = {LineKind::kOwn, {static_cast<uint32_t>(below(3))}};
      }
      std::sort(samples.begin(), samples.end(),
                [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
      trace::Interval steps;
      if (below(2) == 0) {
        steps.begin_ns = window.begin_ns + below(length);
        steps.end_ns = steps.begin_ns + below(length);
      }
      const ThreadView thread = {trace, {t}, doing, off, marks, window, steps};
      const ByDefinition definition(thread, samples);
      LineCursor cursor(thread, samples);
      int64_t until = window.begin_ns;
      for (int64_t at = window.begin_ns; at < window.end_ns; ++at) {
        const LineStretch& got = cursor.At(at);
        if (at == until) {
          ASSERT_EQ(got.begin_ns, at) << "seed " << seed << ": a hole";
          until = got.end_ns;
        }
        const int64_t want = definition.SampleAt(at);
        const ThreadSample* sample = want < 0 ? nullptr : &samples[static_cast<size_t>(want)];
        ASSERT_EQ(got.sample, sample) << "seed " << seed << " track " << t << " at " << at;
        ASSERT_EQ(got.line, want < 0 ? Line() : definition.LineOf(static_cast<size_t>(want)));
        known += want >= 0;
        ++checked;
      }
    }
  }
  EXPECT_GT(known, checked / 10);  // the traces are rich enough to mean something
  EXPECT_LT(known, checked * 9 / 10);
}

}  // namespace
}  // namespace crosscut::analyze
