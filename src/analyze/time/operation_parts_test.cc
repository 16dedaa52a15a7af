#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/tables.h"

namespace crosscut::analyze {
namespace {

using Walls = std::map<std::pair<std::string, std::string>, int64_t>;  // by operation and part

// Instant by instant.
Walls WallsOf(const trace::Trace& trace) {
  const trace::Process& p = trace.processes[0];
  Walls out;
  for (int64_t at = p.start_ns; at < p.end_ns; ++at) {
    const auto key = testing::InstantAt(trace, at);
    if (key) ++out[{key->first, testing::PartAt(trace, at)}];
  }
  return out;
}

TEST(OperationParts, AreThoseOfABruteForceAndSumToTheirOperations) {
  size_t parts = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    testing::TestTrace random = testing::RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    Walls want = WallsOf(trace), got;
    const Table table = testing::Compute(trace, "operation_parts");
    std::map<std::string, int64_t> sums, corrected;
    for (size_t i = 0; i < table.rows(); ++i) {
      if (table.texts("process")[i] != trace.text(trace.processes[0].key)) continue;
      const std::string operation(table.texts("operation")[i]);
      const int64_t wall = table.integers("wall_ns")[i];
      if (wall != 0) got[{operation, std::string(table.texts("part")[i])}] += wall;
      sums[operation] += wall;
      corrected[operation] += table.integers("corrected_ns")[i];
      parts += table.texts("part")[i].empty() ? 0 : 1;
    }
    std::erase_if(want, [&](const auto& cell) { return !sums.contains(cell.first.first); });
    ASSERT_EQ(got, want) << "seed " << seed;
    const Table operations = testing::Compute(trace, "operations");
    for (size_t i = 0; i < operations.rows(); ++i) {
      const std::string operation(operations.texts("operation")[i]);
      if (operations.texts("process")[i] != trace.text(trace.processes[0].key)) continue;
      if (!sums.contains(operation)) continue;
      ASSERT_EQ(sums[operation], operations.integers("wall_ns")[i]) << "seed " << seed;
      ASSERT_EQ(corrected[operation], operations.integers("corrected_ns")[i]) << "seed " << seed;
    }
  }
  EXPECT_GT(parts, 50u);
}

TEST(OperationParts, HaveNoRowsWhereAdaptersFoundNothingInsideWhatTheProgramDeclares) {
  const trace::Trace trace = testing::Parse(
      "process p window=0..100\n"
      "thread main lead\n"
      "op mine 0 40\n"
      "op forward 50 60 found\n");
  EXPECT_EQ(testing::Compute(trace, "operation_parts").rows(), 0u);
}

}  // namespace
}  // namespace crosscut::analyze
