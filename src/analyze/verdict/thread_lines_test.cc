#include "src/analyze/verdict/thread_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;
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
      const int64_t reach = level == 3 || level > 4 ? 3 : 10;
      if (key == kNoKey) continue;
      const int64_t now = ClockAt(key, i);
      std::vector<size_t> of_state;  // samples
      for (size_t s = 0; s < samples_.size(); ++s) {
        const int64_t at = samples_[s].at_ns - window_.begin_ns;
        if (at < 0 || at >= static_cast<int64_t>(keys_.size())) continue;
        const std::array<Key, kKeys>& keys = keys_[static_cast<size_t>(at)];
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) of_state.push_back(s);
      }
      const auto place = [&](size_t s) {
        return static_cast<size_t>(samples_[of_state[s]].at_ns - window_.begin_ns);
      };
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
        mixed |= next_to(s) && samples_[of_state[s]].line != samples_[of_state[nearest]].line;
      }
      if (!mixed) aside = 0;
      int64_t told = -1;
      std::pair<int64_t, int64_t> least;
      for (size_t s = 0; s < of_state.size(); ++s) {
        if (!next_to(s)) continue;
        const int64_t away = std::abs(ClockAt(key, place(s)) - now);
        if (away > reach * samples_[of_state[s]].covers_ns) continue;
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

 private:
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
        sample.line = {LineKind::kOwn, {static_cast<uint32_t>(below(3))}};
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
        ASSERT_EQ(got.line, sample == nullptr ? Line() : sample->line);
        known += want >= 0;
        ++checked;
      }
    }
  }
  EXPECT_GT(known, checked / 10);  // the traces are rich enough to mean something
  EXPECT_LT(known, checked * 9 / 10);
}

// Random programs as text: two threads with nested calls, operations and samples; steps, a pause.
std::string RandomProgram(uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  const char* const kCalls[] = {"aten::mm A framework", "time.sleep A idle", "os.write A native",
                                "io.read A native", "threading.Lock.acquire A idle"};
  std::string text = "process train pid=7 window=0..1000\n";
  if (below(2) == 0) text += "pause 400 430\n";
  std::string steps;
  for (int i = 0; i < 3 && seed % 2 == 0; ++i) {
    steps += "step step " + std::to_string(100 + 200 * i) + " " + std::to_string(280 + 200 * i) +
             " number=" + std::to_string(i) + " level=" + std::to_string(below(5)) + "\n";
  }
  for (int t = 0; t < 2; ++t) {
    text += t == 0 ? "thread main tid=7 base=python main lead\n" + steps
                   : "thread pool tid=8 base=python\n";
    for (int at = 0; at < 1000;) {
      const int begin = at + 1 + below(60), end = begin + 1 + below(120);
      at = end;
      if (end >= 1000) break;
      if (below(3) == 0) {
        text += "op work " + std::to_string(begin) + " " + std::to_string(end) + "\n";
        continue;
      }
      std::string call = kCalls[below(5)];
      call.replace(call.find('A'), 1, std::to_string(begin) + " " + std::to_string(end));
      text += "span " + call + "\n";
    }
    for (int at = below(30); at < 1000; at += 1 + below(80)) {
      text += "instant [sample] " + std::to_string(at) + "\narg covers_ns " +
              std::to_string(below(40)) + "\n";
      if (below(4) > 0) {
        const std::string line = "a.py:" + std::to_string(below(3)) + " f";
        text += "arg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" + line + "\"\n";
      }
      if (below(4) == 0) text += "arg \"Waits for\" futex\n";
    }
  }
  return text;
}

TEST(ThreadLines, OfAThreadAddUpToItsLife) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const Table lines = Compute(trace, "lines"), lives = Compute(trace, "thread_lives");
    std::map<std::string, int64_t> sums;
    for (size_t row = 0; row < lines.rows(); ++row) {
      const int64_t ns = lines.integers("ns")[row], low = lines.integers("low_ns")[row];
      sums[lines.texts("thread")[row]] += ns;
      if (lines.texts("what")[row] == "none") {
        EXPECT_EQ(low, kMissing);
        continue;
      }
      EXPECT_LE(low, ns) << "seed " << seed;
      EXPECT_GE(lines.integers("high_ns")[row], ns) << "seed " << seed;
    }
    for (size_t row = 0; row < lives.rows(); ++row) {
      EXPECT_EQ(sums[lives.texts("thread")[row]], lives.integers("life_ns")[row])
          << "seed " << seed;
    }
  }
}

TEST(ThreadLines, OfThePartsOfAWindowAddUpToItsCells) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const trace::Trace trace = Parse(RandomProgram(seed));
    const Table work = Compute(trace, "part_work"), overlap = Compute(trace, "overlap"),
                parts = Compute(trace, "window_parts");
    std::map<std::string, int64_t> got, want, got_parts, want_parts;
    for (size_t row = 0; row < work.rows(); ++row) {
      got[work.texts("layers")[row]] += work.integers("ns")[row];
      got_parts[work.texts("part")[row]] += work.integers("ns")[row];
    }
    for (size_t row = 0; row < overlap.rows(); ++row) {
      const int64_t ns = overlap.integers("ns")[row];
      if (ns != 0) want[overlap.texts("layers")[row]] += ns;
    }
    for (size_t row = 0; row < parts.rows(); ++row) {
      const int64_t ns = parts.integers("wall_ns")[row];
      if (ns != 0) want_parts[parts.texts("part")[row]] += ns;
    }
    EXPECT_EQ(got, want) << "seed " << seed;
    EXPECT_EQ(got_parts, want_parts) << "seed " << seed;
  }
}

// The rows of `lines` of the lead and of one more thread: "line what layer: ns".
std::vector<std::string> LinesOf(const std::string& body) {
  const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    body),
                              "lines");
  std::vector<std::string> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    out.push_back(table.texts("line")[row] + " " + table.texts("what")[row] + " " +
                  table.texts("layer")[row] + ": " + std::to_string(table.integers("ns")[row]));
  }
  return out;
}

std::string Sample(int at, int covers, const std::string& own, const std::string& inside = "") {
  std::string text =
      "instant [sample] " + std::to_string(at) + "\narg covers_ns " + std::to_string(covers) + "\n";
  if (!own.empty()) text += "arg \"Own line\" \"" + own + "\"\n";
  if (!own.empty() || !inside.empty()) {
    const std::string semicolon = own.empty() || inside.empty() ? "" : ";";
    text += "arg \"Python stack\" \"" + own + semicolon + inside + "\"\n";
  }
  return text;
}

using Rows = std::vector<std::string>;

// Forty stretches of Python between the same calls, of 900 to 1100 ns, in each of which a second
// line begins at the same time; a sample each, at random: by the next sample in time, the lines
// would be off by 8 % of the whole (standard deviation).
TEST(ThreadLines, OfCodeThatComesAgainAreKnownFromAllOfIt) {
  constexpr int kTries = 200;
  double squares = 0;
  for (uint64_t seed = 0; seed < kTries; ++seed) {
    std::mt19937_64 engine(seed);
    const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
    const int second_at = 200 + below(500);
    int64_t first_ns = 0;
    std::string spans, samples;
    int at = 0, before = 0;
    for (int i = 0; i < 40; ++i) {
      const int length = 900 + below(200), sample = at + below(length);
      first_ns += second_at;
      samples += Sample(sample, sample - before, sample - at < second_at ? "a.py:1 f" : "a.py:2 f");
      before = sample;
      at += length;
      spans +=
          "span aten::mm " + std::to_string(at) + " " + std::to_string(at + 10) + " framework\n";
      at += 10;
    }
    const Table table =
        Compute(Parse("process train pid=7 window=0.." + std::to_string(at) +
                      "\nthread main tid=7 base=python main lead\n" + spans + samples),
                "lines");
    int64_t python_ns = 0, got_ns = 0;
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("layer")[row] != "python") continue;
      python_ns += table.integers("ns")[row];
      if (table.texts("line")[row] == "a.py:1 f") got_ns += table.integers("ns")[row];
    }
    squares += std::pow(static_cast<double>(got_ns - first_ns) / static_cast<double>(python_ns), 2);
  }
  EXPECT_LT(std::sqrt(squares / kTries), 0.04);
}

TEST(ThreadLines, AWaitThatNoSampleSawHasNoneOfItsNeighbours) {
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\n" + Sample(300, 300, "a.py:1 f") +
                    Sample(700, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 800", " none idle: 200"}));
  // One that a sample saw has its line, and so have the others of its name.
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\nspan time.sleep 900 950 idle\n" +
                    Sample(300, 300, "a.py:1 f") + Sample(500, 300, "a.py:2 f") +
                    Sample(700, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 750", "a.py:2 f line idle: 250"}));
}

// Who takes samples may wait for a processor when the kernel has noted one.
TEST(ThreadLines, ASampleTellsTheLineOfWhenItsStackWasRead) {
  const std::string late = "arg stack_after_ns 60\n";
  EXPECT_EQ(LinesOf("span time.sleep 400 600 idle\n" + Sample(200, 200, "a.py:1 f") +
                    Sample(390, 190, "a.py:2 f") + late + Sample(800, 410, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 800", "a.py:2 f line idle: 200"}));
}

TEST(ThreadLines, AStretchOfPythonIsKnownByTheCallsAroundIt) {
  // A loop: Python of line 1, a read, Python of line 2, a write. One sample of each.
  std::string body;
  for (int at = 0; at < 1000; at += 100) {
    body += "span io.write " + std::to_string(at) + " " + std::to_string(at + 10) + " native\n" +
            "span io.read " + std::to_string(at + 40) + " " + std::to_string(at + 50) + " native\n";
  }
  body += Sample(520, 400, "a.py:1 f") + Sample(580, 400, "a.py:2 f") +
          Sample(605, 400, "a.py:3 f") + Sample(645, 400, "a.py:4 f");
  EXPECT_EQ(LinesOf(body), (Rows{"a.py:2 f line python: 500", "a.py:1 f line python: 300",
                                 "a.py:3 f line native: 100", "a.py:4 f line native: 100"}));
}

TEST(ThreadLines, CallsOfOneNameAreKnownByTheCallBefore) {
  // Three rounds; each begins with a call of its own. Behind `b`, line 1 runs after `a`, line 2
  // after `d`. The third round has no sample.
  const auto round = [](int at, const std::string& first, const std::string& second) {
    std::string text;
    for (const std::string& name : {first, second, std::string("b")}) {
      text +=
          "span " + name + " " + std::to_string(at) + " " + std::to_string(at + 10) + " native\n";
      at += 10;
    }
    return text + "span c " + std::to_string(at + 270) + " " + std::to_string(at + 303) +
           " native\n";
  };
  EXPECT_EQ(LinesOf(round(0, "x", "a") + round(333, "y", "d") + round(666, "z", "a") +
                    Sample(200, 300, "a.py:1 f") + Sample(500, 300, "a.py:2 f"))[0],
            "a.py:1 f line python: 540");
}

TEST(ThreadLines, ASampleReachesTenTimesWhatItStandsFor) {
  EXPECT_EQ(LinesOf(Sample(500, 20, "a.py:1 f")),
            (Rows{" none python: 599", "a.py:1 f line python: 401"}));
  // Three times, in work of another kind.
  EXPECT_EQ(LinesOf("span io.read 520 1000 native\n" + Sample(500, 20, "a.py:1 f")),
            (Rows{" none native: 439", " none python: 300", "a.py:1 f line python: 220",
                  "a.py:1 f line native: 41"}));
}

TEST(ThreadLines, WhatWasSeenBeforeTheFirstStepTellsNothingOfTheSteps) {
  const std::string import = Sample(180, 300, "a.py:1 f");
  EXPECT_EQ(LinesOf("step step 200 400 number=0\nstep step 400 800 number=1\n" + import),
            (Rows{" none python: 800", "a.py:1 f line python: 200"}));
  EXPECT_EQ(LinesOf("step step 200 400 number=0\nstep step 400 800 number=1\n" + import +
                    Sample(300, 300, "a.py:2 f") + Sample(900, 300, "a.py:3 f")),
            (Rows{"a.py:2 f line python: 600", "a.py:1 f line python: 200",
                  "a.py:3 f line python: 200"}));
}

// There are no calls in steps that were left out, so what is seen in them is Python, and tells
// nothing of Python elsewhere; nobody looks at control steps.
TEST(ThreadLines, StepsThatWereLeftOutHaveTheLinesThatWereSeenInThem) {
  EXPECT_EQ(LinesOf("step step 0 200 number=0\nstep step 200 600 number=1 level=4\n"
                    "step step 600 800 number=2 level=0\nstep step 800 1000 number=3\n" +
                    Sample(100, 300, "a.py:1 f") + Sample(300, 300, "a.py:2 f") +
                    Sample(500, 300, "a.py:3 f") + Sample(900, 300, "a.py:1 f")),
            (Rows{"a.py:1 f line python: 400", "a.py:2 f line python: 201", " none python: 200",
                  "a.py:3 f line python: 199"}));
}

TEST(ThreadLines, ImportsAndTheExitHaveNamesOfTheirOwn) {
  const std::string import = "<frozen importlib._bootstrap>:9 _find_and_load;x.py:1 <module>";
  EXPECT_EQ(LinesOf(Sample(100, 100, "a.py:1 <module>", import) +
                    Sample(300, 100, "a.py:1 <module>", import + ";b/own.py:3 <module>")),
            (Rows{"a.py:1 <module> (imports) import python: 1000"}));
  // Frames are whole: one of a file with a longer name is no line of the program's own.
  EXPECT_EQ(LinesOf(Sample(500, 500, "train.py:1 <module>", import + ";pretrain.py:1 <module>")),
            (Rows{"train.py:1 <module> (imports) import python: 1000"}));
  // What a module of the program's own does as it is imported is no import.
  EXPECT_EQ(
      LinesOf("instant [sample] 500\narg covers_ns 400\narg \"Own line\" \"b/own.py:3 f\"\n"
              "arg \"Python stack\" \"a.py:1 m;<frozen importlib._bootstrap>:9 x;own.py:3 f\"\n"),
      (Rows{"b/own.py:3 f line python: 1000"}));
  // Samples without a stack at the end; behind them there is no interpreter.
  EXPECT_EQ(LinesOf(Sample(200, 200, "a.py:1 f") + Sample(400, 200, "") + Sample(600, 200, "")),
            (Rows{"(interpreter exit) exit python: 599", "a.py:1 f line python: 301",
                  "(exit behind the interpreter's end) exit python: 100"}));
}

TEST(PartWork, HasTheLineOfTheThreadThatTheLeadWaitsFor) {
  const auto lines = [](const std::string& wait, const std::string& other) {
    const Table table = Compute(Parse("process train pid=7 window=0..1000\n"
                                      "thread main tid=7 base=python main lead\n"
                                      "span " +
                                      wait + " 0 1000 idle\n" + Sample(500, 500, "a.py:1 main") +
                                      "thread pool tid=8 base=python\n" + other),
                                "part_work");
    std::string out;
    for (size_t row = 0; row < table.rows(); ++row) {
      out += table.texts("work")[row] + " " + std::to_string(table.integers("ns")[row]) + "; ";
    }
    return out;
  };
  const std::string works = Sample(500, 500, "a.py:9 work");
  EXPECT_EQ(lines("threading.Lock.acquire", works), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("select.epoll.poll", works), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("time.sleep", works), "a.py:1 main 1000; ");
  EXPECT_EQ(lines("threading.Lock.acquire", Sample(500, 500, "", "x.py:1 g")), "a.py:1 main 1000; ")
      << "that thread has no line of the program";
  const std::string writes = "span os.write 0 1000 native\n" + works;
  EXPECT_EQ(lines("threading.Lock.acquire", writes), "a.py:9 work 1000; ");
  EXPECT_EQ(lines("threading.Lock.acquire", writes + "arg \"Waits for\" write\n"),
            "a.py:1 main 1000; ")
      << "it waits for who reads";
  EXPECT_EQ(lines("threading.Lock.acquire",
                  works + "thread more tid=9 base=python\n" + Sample(500, 500, "a.py:8 more")),
            "a.py:8 more 500; a.py:9 work 500; ");
}

TEST(PartWork, HasTheLinesOfThreadsThatComeAndGo) {
  std::string text = "process train window=0..1000\nthread main base=idle main lead\n" +
                     Sample(500, 1000, "a.py:1 main");
  const std::pair<int, int> lives[] = {{600, 900}, {0, 300}, {200, 500}};
  for (size_t i = 0; i < std::size(lives); ++i) {
    const auto [begin, end] = lives[i];
    const std::string number = std::to_string(i);
    text += "thread t" + number + " base=python life=" + std::to_string(begin) + ".." +
            std::to_string(end) + "\n" + Sample(begin + 100, 300, "a.py:1" + number + " work");
  }
  std::map<std::string, int64_t> got;
  const Table table = Compute(Parse(text), "part_work");
  for (size_t row = 0; row < table.rows(); ++row) {
    got[table.texts("work")[row]] += table.integers("ns")[row];
  }
  EXPECT_EQ(got, (std::map<std::string, int64_t>{{"a.py:1 main", 200},
                                                 {"a.py:10 work", 300},
                                                 {"a.py:11 work", 250},
                                                 {"a.py:12 work", 250}}));
}

}  // namespace
}  // namespace crosscut::analyze
