#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/quantiles.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/tables.h"
#include "src/trace/builder.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using testing::RandomTrace;
using testing::TestTrace;

TEST(FunctionLengths, EachLengthLiesInItsRangeWhichIsNarrow) {
  for (int power = 0; power < 50; ++power) {
    for (const int64_t beside : {-1, 0, 1}) {
      const int64_t length = (int64_t{1} << power) + beside;
      TestTrace t;
      const auto p = t.Process("p", 0, int64_t{1} << 51);
      t.Spans(t.Lead(p), trace::Layer::kPython, {{0, length}});
      const Table got = Compute(t.Finish(), "function_lengths");
      if (length == 0 && got.rows() == 0) continue;  // a trace holds no span of no length
      ASSERT_EQ(got.rows(), 1) << length;
      const int64_t from = got.integers("from_ns")[0], below = got.integers("below_ns")[0];
      EXPECT_LE(from, length);
      EXPECT_GT(below, length);
      EXPECT_LE(below - from, std::max<int64_t>(1, from / 128)) << length;
      EXPECT_EQ(got.integers("count")[0], 1);
    }
  }
}

TEST(FunctionLengths, CountsAddUpToThoseOfFunctionsAndLieWithinTheirExtremes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TestTrace t = RandomTrace(seed);
    const trace::Trace& trace = t.Finish();
    const Table functions = Compute(trace, "functions");
    const Table lengths = Compute(trace, "function_lengths");
    for (size_t f = 0; f < functions.rows(); ++f) {
      int64_t count = 0, before = -1;
      for (size_t row = 0; row < lengths.rows(); ++row) {
        if (lengths.texts("name")[row] != functions.texts("name")[f] ||
            lengths.texts("layer")[row] != functions.texts("layer")[f]) {
          continue;
        }
        EXPECT_GT(lengths.integers("from_ns")[row], before) << "sorted, each range once";
        before = lengths.integers("from_ns")[row];
        if (count == 0) {
          EXPECT_GT(lengths.integers("below_ns")[row], functions.integers("min_ns")[f]);
        }
        count += lengths.integers("count")[row];
      }
      EXPECT_EQ(count, functions.integers("count")[f]);
      EXPECT_LE(before, functions.integers("max_ns")[f]);
    }
  }
}

// Tasks that take turns on a thread, each with a stack of its own, one resumed inside another, too:
// what is open on the thread lies in any order. Beside it, what each span takes while it is open.
class Turns {
 public:
  Turns(uint64_t seed, bool told) : random_(seed), told_(told), operation_(seed % 2 == 1) {
    const auto p = builder_.AddProcess("p");
    builder_.process(p).end_ns = 1'000'000;
    track_ = &builder_.AddTrack(p, trace::TrackKind::kThread);
    for (const char* text : {"a", "b", "c"}) {
      const bool function = *text != 'c' || !operation_;
      const trace::Kind kind = function ? trace::Kind::kSpan : trace::Kind::kOperation;
      trace::Name name{builder_.Text(text), kind, trace::Layer::kPython};
      name.crosses = random_() % 2 == 0;
      names_.push_back(builder_.AddName(name));
    }
  }

  void Begin(size_t task, size_t name) {
    track_->Begin(now_, names_[name]);
    open_.push_back({task, name, now_});
  }
  void EndOneOf(size_t task) {
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i].task != task || random_() % 3 == 0) continue;
      track_->EndAt(now_, i);
      lengths_[open_[i].name].push_back(Took(open_[i]));
      open_.erase(open_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }
  // Ends all from the task's outermost on, as recorders do; the others begin again.
  void Suspend(size_t task) {
    const auto its = [&](const Span& span) { return span.task == task; };
    const auto first = std::find_if(open_.begin(), open_.end(), its);
    std::vector<Span> cut(first, open_.end());
    open_.erase(first, open_.end());
    for (size_t i = cut.size(); i-- > 0;) {
      track_->EndAt(now_, open_.size() + i);
      cut[i].before = Took(cut[i]);
      cut[i].cut = now_;
      cut[i].inside = static_cast<uint32_t>(
          std::count_if(cut.begin() + static_cast<ptrdiff_t>(i) + 1, cut.end(),
                        [&](const Span& span) { return span.name == cut[i].name; }));
    }
    for (const Span& span : cut) {
      if (its(span)) {
        suspended_[task].push_back(span);
      } else {
        Resume(span);
      }
    }
  }
  void Resume(size_t task) {
    for (const Span& span : std::exchange(suspended_[task], {})) Resume(span);
  }
  bool Runs(size_t task) const { return suspended_[task].empty(); }
  void Pass() { now_ += 1 + static_cast<int64_t>(random_() % 50); }
  uint64_t Draw(uint64_t below) { return random_() % below; }

  trace::Trace Finish() {
    for (const Span& span : open_) lengths_[span.name].push_back(Took(span));
    for (const std::vector<Span>& spans : suspended_) {
      for (const Span& span : spans) lengths_[span.name].push_back(span.before);
    }
    track_->Finish(0, now_);
    return builder_.Finish();
  }
  // count, min_ns, p50_ns, max_ns by name.
  std::map<std::string, std::vector<int64_t>> Expected() const {
    std::map<std::string, std::vector<int64_t>> expected;
    for (size_t name = 0; name < (operation_ ? 2 : 3); ++name) {
      std::vector<int64_t> all = lengths_[name];
      if (all.empty()) continue;
      std::sort(all.begin(), all.end());
      expected[std::string(1, static_cast<char>('a' + name))] = {
          static_cast<int64_t>(all.size()), all.front(), all[RankOf(all.size(), 50)], all.back()};
    }
    return expected;
  }

 private:
  struct Span {
    size_t task, name;
    int64_t begin, before = 0, cut = 0;
    uint32_t inside = 0;
  };
  int64_t Took(const Span& span) const { return span.before + now_ - span.begin; }
  void Resume(Span span) {
    track_->GoOn(now_, names_[span.name]);
    if (told_) track_->GoesOnWith(span.cut, span.inside);
    span.begin = now_;
    open_.push_back(span);
  }

  std::mt19937_64 random_;
  const bool told_;
  const bool operation_;  // "c" is one, and no function, though it has parts, too
  trace::Builder builder_;
  trace::TrackBuilder* track_;
  std::vector<trace::NameId> names_;
  int64_t now_ = 0;
  std::vector<Span> open_;                       // on the thread
  std::array<std::vector<Span>, 5> suspended_;   // by task
  std::array<std::vector<int64_t>, 3> lengths_;  // by name, of what ended
};

std::map<std::string, std::vector<int64_t>> Figures(const trace::Trace& trace) {
  std::map<std::string, std::vector<int64_t>> figures;
  const Table table = Compute(trace, "functions");
  for (size_t row = 0; row < table.rows(); ++row) {
    for (const char* column : {"count", "min_ns", "p50_ns", "max_ns"}) {
      figures[std::string(table.texts("name")[row])].push_back(table.integers(column)[row]);
    }
  }
  return figures;
}

TEST(Functions, OfTasksInAnyOrderEachSpanHasItsOwnParts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Turns turns(seed, /*told=*/true);
    for (int i = 0; i < 120; ++i) {
      turns.Pass();
      const size_t task = turns.Draw(5);
      if (!turns.Runs(task)) {
        if (turns.Draw(2) == 0) turns.Resume(task);
        continue;
      }
      switch (turns.Draw(4)) {
        case 0: turns.EndOneOf(task); break;
        case 1: turns.Suspend(task); break;
        default: turns.Begin(task, turns.Draw(3)); break;
      }
    }
    const trace::Trace trace = turns.Finish();
    EXPECT_EQ(Figures(trace), turns.Expected()) << "seed " << seed;
    EXPECT_EQ(trace.tracks[0].guessed, 0);
  }
}

// Without a gap between their turns, too.
TEST(Functions, WhereNobodyTellsThoseThatTakeTurnsGoOnInTheirOrder) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Turns turns(seed, /*told=*/false);
    const size_t tasks = 1 + seed % 5;
    for (int round = 0; round < 6; ++round) {
      for (size_t task = 0; task < tasks; ++task) {
        turns.Resume(task);
        if (round == 0) turns.Begin(task, 0);
        turns.Pass();
        if (round == 1) turns.Begin(task, turns.Draw(3));
        turns.Pass();
        turns.Suspend(task);
        if (seed % 2 == 0) turns.Pass();
      }
    }
    const trace::Trace trace = turns.Finish();
    EXPECT_EQ(Figures(trace), turns.Expected()) << "seed " << seed;
    EXPECT_EQ(trace.tracks[0].guessed > 0, tasks > 1);
  }
}

TEST(Facts, AreWhatAProcessStates) {
  const trace::Trace trace = testing::Parse(R"_(# crosscut trace
process p1 window=0..9
meta rank 3
meta world_size 8
process p2 window=0..9
)_");
  EXPECT_THAT(testing::Rows(trace, "facts"), ElementsAre("p1 rank 3", "p1 world_size 8"));
}

}  // namespace
}  // namespace crosscut::analyze
