#include "src/analyze/time/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/analyze/testing/test_trace.h"

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
