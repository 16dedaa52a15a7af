// Parts that are cut out of a recording, beside the recording itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
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

class NativeCut : public Native {};

TEST_F(NativeCut, AnyPartsHaveTheSpansThatBeganInThemAndNoOthers) {
  constexpr uint64_t kEnd = 1000;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ / "cut");
    for (const auto& folder : {dir_, dir_ / "cut"}) {
      std::ofstream(folder / "run.json") << R"({"format": 1, "command": ["python"]})";
    }
    Words session = Session();
    for (uint32_t id = 0; id < kSpans; ++id) {
      session.Name(0x100 + id, "call " + std::to_string(id),
                   Attributes(format::kKindSpan, format::kLayerNative));
    }
    for (uint32_t id = kFirstOperation; id < kFirstOperation + kOperations; ++id) {
      session.Name(id, "operation " + std::to_string(id),
                   Attributes(format::kKindOperation, format::kLayerNone));
    }
    session.At(kEnd, format::kStop, {format::kStopAsked});
    Write("p1", session, {RandomThread(&random, 1, kEnd), RandomThread(&random, 2, kEnd)});
    std::array<uint64_t, 4> edges;
    for (uint64_t& edge : edges) edge = 2 * (random() % 300);
    std::sort(edges.begin(), edges.end());
    if (random() % 2 == 0) edges[2] = edges[1];  // one part
    format::Cut cut;
    std::vector<trace::Interval> parts;
    for (const size_t i : {0, 2}) {
      if (edges[i] == edges[i + 1]) continue;
      cut.parts.push_back({TickOf(edges[i]), TickOf(edges[i + 1]), 0, 0});
      parts.push_back({static_cast<int64_t>(edges[i]), static_cast<int64_t>(edges[i + 1])});
    }
    if (parts.empty()) continue;
    const Status done =
        format::CutProcess(dir_.string(), "p1", cut, (dir_ / "cut" / "p1.crosscut").string());
    ASSERT_TRUE(done.ok()) << done.message();
    const trace::Trace whole = Read();
    auto part = Import((dir_ / "cut").string());
    ASSERT_TRUE(part.ok()) << part.status().message();
    const int64_t from = parts.front().begin_ns, until = parts.back().end_ns;
    const std::vector<Span> its = SpansIn(*part, {{INT64_MIN, INT64_MAX}});
    const std::vector<Span> expected = SpansIn(whole, parts);
    std::vector<Span> more, less;
    std::set_difference(its.begin(), its.end(), expected.begin(), expected.end(),
                        std::back_inserter(more));
    std::set_difference(expected.begin(), expected.end(), its.begin(), its.end(),
                        std::back_inserter(less));
    ASSERT_EQ(more, less) << "seed " << seed << ", cut from " << from << " to " << until;
    ASSERT_EQ(part->processes.size(), 1u);
    EXPECT_EQ(part->processes[0].start_ns, from);
    EXPECT_EQ(part->processes[0].end_ns, until);
    for (const trace::Track& track : part->tracks) EXPECT_EQ(track.unbalanced, 0) << seed;
  }
}

}  // namespace
}  // namespace crosscut::import
