// Parts that are cut out of a recording, beside the recording itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>

#include "src/format/cut.h"
#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

using Span = std::tuple<std::string, int64_t, int64_t>;  // name, begin, end

constexpr uint32_t kSpans = 4, kFirstOperation = 0x110, kOperations = 3;

// Calls and operations of one thread that nest as a program's do: an operation may end while calls
// that began in it are open.
Words RandomThread(std::mt19937_64* random, uint32_t track, uint64_t end_ns) {
  Words words;
  uint64_t at = 2 * ((*random)() % 50);
  words.Thread(at, track, track == 1 ? format::kThreadIsMain : 0);
  std::vector<uint32_t> operations;
  while (at < end_ns) {
    at += 2 * ((*random)() % 8);
    switch ((*random)() % 8) {
      case 0: {
        const auto name = static_cast<uint32_t>(kFirstOperation + (*random)() % kOperations);
        operations.push_back(name);
        words.At(at, format::kBeginWide, {name});
        break;
      }
      case 1:
        if (operations.empty()) break;
        words.At(at, format::kEndNamed, {operations.back()});
        operations.pop_back();
        break;
      case 2:
      case 3:
      case 4: words.At(at, 0x100 + (*random)() % kSpans); break;
      default: words.At(at, format::kEnd); break;
    }
  }
  return words;
}

// Those that began in one of `times`, each with all its parts: where it is cut depends on what is
// around it.
std::vector<Span> SpansIn(const trace::Trace& trace, const std::vector<trace::Interval>& times) {
  const int64_t last = times.back().end_ns;
  std::vector<Span> found;
  for (const trace::Track& track : trace.tracks) {
    const trace::Spans& spans = track.spans;
    std::vector<size_t> first(spans.size());
    std::iota(first.begin(), first.end(), size_t{0});
    for (size_t i = 0; i < spans.continued.size(); ++i) {
      first[spans.continued[i]] = first[spans.parts_before[i]];
    }
    std::map<size_t, int64_t> ends;
    for (size_t i = 0; i < spans.size(); ++i) {
      ends[first[i]] = std::max(ends[first[i]], spans.end_ns[i]);
    }
    for (const auto& [span, ended] : ends) {
      const int64_t from = spans.begin_ns[span];
      if (std::none_of(times.begin(), times.end(), [&](const trace::Interval& time) {
            return time.begin_ns <= from && from < time.end_ns;
          })) {
        continue;
      }
      found.emplace_back(trace.name_text(spans.name[span]), from, std::min(ended, last));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

constexpr uint64_t kEnd = 1000;

class NativeCut : public Native {
 protected:
  // What was cut out of a run, and the run.
  struct Drawn {
    std::vector<trace::Interval> parts;
    trace::Trace whole, part;
  };
  // Of the process with this session, which it ends, and threads: one or two parts, which begin and
  // end at multiples of `unit`. Nothing where none was drawn, or one cannot be cut out.
  std::optional<Drawn> CutAtRandom(std::mt19937_64* random, uint64_t unit, Words session,
                                   const std::vector<Words>& threads) {
    std::filesystem::remove_all(dir_ / "cut");
    std::filesystem::remove(dir_ / "p1.crosscut");
    std::filesystem::create_directory(dir_ / "cut");
    std::filesystem::copy_file(dir_ / "run.json", dir_ / "cut" / "run.json");
    Write("p1", session.At(kEnd, format::kStop, {format::kStopAsked}), threads);
    std::array<uint64_t, 4> edges;
    for (uint64_t& edge : edges) edge = unit * ((*random)() % (kEnd / unit));
    std::sort(edges.begin(), edges.end());
    if ((*random)() % 2 == 0) edges[2] = edges[1];  // one part
    Drawn drawn;
    format::Cut cut;
    for (const size_t i : {0, 2}) {
      if (edges[i] == edges[i + 1]) continue;
      cut.parts.push_back({TickOf(edges[i]), TickOf(edges[i + 1]), 0, 0});
      drawn.parts.push_back({static_cast<int64_t>(edges[i]), static_cast<int64_t>(edges[i + 1])});
    }
    if (drawn.parts.empty()) return std::nullopt;
    const Status done =
        format::CutProcess(dir_.string(), "p1", cut, (dir_ / "cut" / "p1.crosscut").string());
    EXPECT_TRUE(done.ok()) << done.message();
    drawn.whole = Read();
    auto part = Import((dir_ / "cut").string());
    EXPECT_TRUE(part.ok()) << part.status().message();
    if (!done.ok() || !part.ok()) return std::nullopt;
    drawn.part = std::move(*part);
    return drawn;
  }
};

TEST_F(NativeCut, AnyPartsHaveTheSpansThatBeganInThemAndNoOthers) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Words session = Session();
    for (uint32_t id = 0; id < kSpans; ++id) {
      session.Name(0x100 + id, "call " + std::to_string(id),
                   Attributes(format::kKindSpan, format::kLayerNative));
    }
    for (uint32_t id = kFirstOperation; id < kFirstOperation + kOperations; ++id) {
      session.Name(id, "operation " + std::to_string(id),
                   Attributes(format::kKindOperation, format::kLayerNone));
    }
    const Words main = RandomThread(&random, 1, kEnd), other = RandomThread(&random, 2, kEnd);
    const std::optional<Drawn> drawn = CutAtRandom(&random, 2, session, {main, other});
    if (!drawn) continue;
    const auto& [parts, whole, part] = *drawn;
    const int64_t from = parts.front().begin_ns, until = parts.back().end_ns;
    const std::vector<Span> its = SpansIn(part, {{INT64_MIN, INT64_MAX}});
    const std::vector<Span> expected = SpansIn(whole, parts);
    std::vector<Span> more, less;
    std::set_difference(its.begin(), its.end(), expected.begin(), expected.end(),
                        std::back_inserter(more));
    std::set_difference(expected.begin(), expected.end(), its.begin(), its.end(),
                        std::back_inserter(less));
    ASSERT_EQ(more, less) << "seed " << seed << ", cut from " << from << " to " << until;
    ASSERT_EQ(part.processes.size(), 1u);
    EXPECT_EQ(part.processes[0].start_ns, from);
    EXPECT_EQ(part.processes[0].end_ns, until);
    for (const trace::Track& track : part.tracks) EXPECT_EQ(track.unbalanced, 0) << seed;
  }
}

// The phase that runs at a time; "" where none does.
std::string_view PhaseAt(const trace::Trace& trace, int64_t at_ns) {
  for (const trace::Phase& phase : trace.processes[0].phases) {
    if (phase.begin_ns <= at_ns && at_ns < phase.end_ns) return trace.text(phase.name);
  }
  return "";
}

TEST_F(NativeCut, PhasesRunInItAsInTheRecording) {
  int seen = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    Words session = Session();
    for (uint32_t id = 0x100; id < 0x103; ++id) {
      session.Name(id, "phase " + std::to_string(id),
                   Attributes(format::kKindPhase, format::kLayerNone));
    }
    session.Name(0x110, "call", Attributes(format::kKindSpan, format::kLayerNative));
    std::vector<Words> threads(2);
    for (uint32_t track = 1; track <= 2; ++track) {
      Words& words = threads[track - 1];
      words.Thread(0, track, track == 1 ? format::kThreadIsMain : 0);
      // No two of them change the phase at once.
      for (uint64_t at = 2 * track; at < kEnd; at += 4 * (1 + random() % 60)) {
        const uint64_t name = 0x100 + random() % 3, what = random() % 4;
        if (what == 0) words.At(at, format::kEndNamed, {name});
        if (what == 1) words.At(at, name);
        if (what > 1) words.At(at, 0x110).At(at + 2, format::kEnd);
      }
      if (random() % 3 == 0) words.At(kEnd - 1, format::kThreadEnd);
    }
    const std::optional<Drawn> drawn = CutAtRandom(&random, 8, session, threads);
    if (!drawn) continue;
    for (const trace::Interval& time : drawn->parts) {
      for (int64_t at = time.begin_ns; at < time.end_ns; ++at) {
        const std::string_view is = PhaseAt(drawn->whole, at);
        ASSERT_EQ(PhaseAt(drawn->part, at), is) << "seed " << seed << " at " << at;
        seen += is.empty() ? 0 : 1;
      }
    }
    for (const trace::Track& track : drawn->part.tracks) {
      EXPECT_EQ(track.unbalanced + track.clamped, 0) << seed;
    }
  }
  EXPECT_GT(seen, 1000);
}

}  // namespace
}  // namespace crosscut::import
