// Inclusive times against the measure of the instants at which at least one span was open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "src/analyze/testing/test_trace.h"
#include "src/trace/builder.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

using Sums = std::map<std::string, int64_t>;

Sums SumBy(const Table& table, const std::vector<std::string>& keys, const char* value) {
  Sums sums;
  for (size_t row = 0; row < table.rows(); ++row) {
    std::string key;
    for (const std::string& column : keys) key += table.texts(column)[row] + "|";
    sums[key] += table.integers(value)[row];
  }
  return sums;
}

// A loop of steps in which few names call each other and themselves, on two threads.
class Calls {
 public:
  explicit Calls(uint64_t seed) : random_(seed), process_(test_.Process("p", 0, 100'000)) {
    for (const char* text : {"a", "b", "nn.Module: a"}) {
      for (const Layer layer : {Layer::kPython, Layer::kFramework}) {
        names_.push_back(test_.Name(text, Kind::kSpan, layer));
      }
    }
    names_.push_back(test_.Name("a", Kind::kOperation, Layer::kNone));
    names_.push_back(test_.Name("b", Kind::kOperation, Layer::kNone));
    trace::Name overload = test_.trace().names[names_[1].value];
    overload.overload = test_.trace().strings.Intern("out");
    test_.trace().names.push_back(overload);
    names_.push_back({static_cast<uint32_t>(test_.trace().names.size() - 1)});
    for (const trace::TrackId track : {test_.Lead(process_), test_.Thread(process_, "other")}) {
      for (int64_t step = 0; step < 8; ++step) Fill(track, step * 10'000, step * 10'000 + 9'999, 0);
    }
    for (int64_t step = 0; step < 8; ++step) {
      test_.Step(process_, step * 10'000, (step + 1) * 10'000, 3);
    }
    test_.Finish();
  }

  const trace::Trace& trace() { return test_.trace(); }

  // By what `key` says of a span ("": not that one), the time in which a thread was in at least
  // one.
  Sums InAtLeastOne(const std::function<std::string(const trace::Name&)>& key) {
    Sums sums;
    for (const trace::Track& track : trace().tracks) {
      std::map<std::string, int64_t> counted_to;
      for (size_t i = 0; i < track.spans.size(); ++i) {  // in order of begin
        const std::string of = key(trace().name(track.spans.name[i]));
        if (of.empty()) continue;
        const int64_t begin = std::max(track.spans.begin_ns[i], counted_to[of]);
        sums[of] += std::max<int64_t>(0, track.spans.end_ns[i] - begin);
        counted_to[of] = std::max(counted_to[of], track.spans.end_ns[i]);
      }
    }
    return sums;
  }

  std::string text(const trace::Name& name) { return std::string(trace().text(name.text)); }

 private:
  int64_t Draw(int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random_);
  }

  void Fill(trace::TrackId track, int64_t begin, int64_t end, int depth) {
    for (int64_t at = begin; at < end && depth < 7;) {
      const int64_t from = at + Draw((end - at) / 3 + 1), to = from + Draw(end - from + 1);
      test_.Span(track, from, to, names_[static_cast<size_t>(Draw(int64_t(names_.size())))]);
      Fill(track, from, to, depth + 1);
      at = to + 1;
    }
  }

  std::mt19937_64 random_;
  TestTrace test_;
  trace::ProcessId process_;
  std::vector<trace::NameId> names_;
};

class InclusiveTime : public ::testing::TestWithParam<uint64_t> {};

TEST_P(InclusiveTime, CountsAnInstantOncePerNameAndThread) {
  Calls calls(GetParam());
  const trace::Trace& trace = calls.trace();
  const auto function = [&](const trace::Name& name) {
    if (name.kind != Kind::kSpan) return std::string();
    return std::string(trace::LayerName(name.layer)) + "|" + calls.text(name) + "|";
  };
  EXPECT_EQ(SumBy(Compute(trace, "functions"), {"layer", "name"}, "total_ns"),
            calls.InAtLeastOne(function));
  EXPECT_EQ(SumBy(Compute(trace, "step_operators"), {"layer", "name"}, "total_ns"),
            calls.InAtLeastOne(function))
      << "no span reaches over a step, and all steps show everything";
  const auto op = [&](const trace::Name& name) {
    return name.layer == Layer::kFramework ? calls.text(name) + "|" : "";
  };
  const auto overload = [&](const trace::Name& name) {
    return op(name).empty() ? "" : op(name) + std::string(trace.text(name.overload)) + "|";
  };
  const Table operators = Compute(trace, "operators");
  EXPECT_EQ(SumBy(operators, {"name"}, "name_total_ns"), calls.InAtLeastOne(op));
  EXPECT_EQ(SumBy(operators, {"name"}, "dims_total_ns"), calls.InAtLeastOne(op));
  EXPECT_EQ(SumBy(operators, {"name", "overload"}, "overload_total_ns"),
            calls.InAtLeastOne(overload));
  EXPECT_EQ(SumBy(operators, {"name", "overload"}, "total_ns"), calls.InAtLeastOne(overload));
  const auto module = [&](const trace::Name& name) {
    return calls.text(name).starts_with("nn.Module: ") ? "a|" : "";
  };
  EXPECT_EQ(SumBy(Compute(trace, "modules"), {"module"}, "total_ns"), calls.InAtLeastOne(module));
}

INSTANTIATE_TEST_SUITE_P(RandomCalls, InclusiveTime, ::testing::Range<uint64_t>(0, 50));

TEST(InclusiveTime, OfCallsThatCallEachOtherIsTheWall) {
  const trace::Trace trace = testing::Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
op epoch 0 1000
span a 0 900 python
op epoch 50 850
span b 100 800 python
span a 200 700 python
span b 300 600 python
thread other tid=8
span a 500 600 python
span a 500 550 python
)_");
  EXPECT_EQ(SumBy(Compute(trace, "functions"), {"name"}, "total_ns"),
            (Sums{{"a|", 900 + 100}, {"b|", 700}}));
  EXPECT_EQ(SumBy(Compute(trace, "functions"), {"name"}, "self_ns"),
            (Sums{{"a|", 200 + 200 + 100}, {"b|", 200 + 300}}));
  EXPECT_EQ(SumBy(Compute(trace, "operations"), {"operation"}, "total_ns"),
            (Sums{{"epoch|", 1000}}));
}

// The stack of a call that its namesake calls is the same where no Python lies between them.
TEST(InclusiveTime, OfAnOperatorAndItsStackCountsARedispatchOnce) {
  const trace::Trace trace = testing::Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span main 0 1000 python
span aten::sum 0 100 framework probe=op
span aten::sum 10 90 framework probe=op overload=dim_IntList
)_");
  EXPECT_EQ(SumBy(Compute(trace, "operator_stacks"), {"operator"}, "total_ns"),
            (Sums{{"aten::sum|", 100}}));
}

TEST(InclusiveTime, OfAnOperationLeavesOutPausesAndWhatLiesOutsideTheWindow) {
  TestTrace t;
  const auto p = t.Process("p", 100, 1000);
  const auto lead = t.Lead(p);
  t.Operation(lead, "epoch", 0, 800);
  t.process(p).paused = {{200, 300}, {700, 900}};
  EXPECT_EQ(SumBy(Compute(t.Finish(), "operations"), {"operation"}, "total_ns").at("epoch|"),
            100 + 400);
}

// The first call goes on behind the end of the second, which began in it.
TEST(InclusiveTime, OfACallThatWasCutIsOneLengthItsOwn) {
  trace::Builder builder;
  trace::TrackBuilder& track = builder.AddTrack(builder.AddProcess("p"), trace::TrackKind::kThread);
  const trace::NameId call =
      builder.AddName({builder.Text("call"), trace::Kind::kSpan, trace::Layer::kNative, false, {}});
  const trace::NameId scope = builder.AddName(
      {builder.Text("scope"), trace::Kind::kOperation, trace::Layer::kNone, false, {}});
  track.Begin(0, scope);
  track.Begin(1, call);
  track.Begin(2, call);
  track.EndAt(10, 0);  // cuts both
  track.End(12);
  track.Begin(13, call);
  track.End(14);
  track.End(100);
  const std::vector<std::string> rows = testing::Rows(builder.Finish(), "functions");
  // count, total, self, min, p50, p99, max
  EXPECT_THAT(rows, ::testing::ElementsAre("native call 3 99 99 1 10 99 99"));
}

}  // namespace
}  // namespace crosscut::analyze
