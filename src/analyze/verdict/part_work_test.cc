#include <gtest/gtest.h>

#include "src/analyze/columns.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

TEST(PartWork, GivesTimeOutsideOfOperationsTheLineOfTheNextSample) {
  const Table work = Compute(Parse(R"(process train pid=7 window=0..100
thread main tid=7 base=python main lead
op forward 0 40
instant [sample] 50
arg covers_ns 20
arg "Own line" "train.py:4 main"
instant [sample] 70
arg covers_ns 20
arg "Own line" "train.py:4 main"
instant [sample] 90
arg covers_ns 20
arg "Own line" "train.py:9 main"
)"),
                             "part_work");
  ASSERT_EQ(work.rows(), 3u);
  EXPECT_EQ(work.texts("work"), (Texts{"train.py:4 main", "forward", "train.py:9 main"}));
  EXPECT_EQ(work.texts("what"), (Texts{"line", "operation", "line"}));
  EXPECT_EQ(work.integers("ns"), (Integers{41, 40, 19}));
  EXPECT_EQ(work.integers("samples"), (Integers{2, kMissing, 1}));
  EXPECT_EQ(work.integers("low_ns"), (Integers{0, kMissing, 0}));
  EXPECT_EQ(work.integers("high_ns"), (Integers{60, kMissing, 60}));
}

// Each line is looked at a few times, not once for each other one.
TEST(PartWork, TakesManyLines) {
  constexpr int kLines = 60'000;
  std::string text = "process train window=0.." + std::to_string(kLines * 10) +
                     "\nthread main base=python main lead\n";
  for (int i = 0; i < kLines; ++i) {
    text += "instant [sample] " + std::to_string(i * 10 + 5) +
            "\narg covers_ns 10\narg \"Own line\" \"a.py:" + std::to_string(i) + " f\"\n";
  }
  EXPECT_EQ(Compute(Parse(text), "part_work").rows(), size_t{kLines});
}

TEST(PartWork, TimeThatIsKnownToHaveNoProcessorIsNoLines) {
  const trace::Trace trace = Parse(R"trace(process train pid=7 window=0..1000
thread main tid=7 base=python main lead
span "(no processor)" 300 900 idle
instant [sample] 250
arg covers_ns 250
arg "Own line" "train.py:4 main"
instant [sample] 600
arg covers_ns 350
arg "Own line" "train.py:9 main"
)trace");
  const Table work = Compute(trace, "part_work"), causes = Compute(trace, "step_causes");
  EXPECT_EQ(work.texts("work"), (Texts{"(no processor)", "train.py:4 main"}));
  EXPECT_EQ(work.texts("what"), (Texts{"none", "line"}));
  EXPECT_EQ(work.texts("layers"), (Texts{"idle", "python"}));
  EXPECT_EQ(work.integers("ns"), (Integers{600, 400}));
  EXPECT_EQ(work.integers("samples"), (Integers{kMissing, 1}));
  EXPECT_EQ(causes.texts("cause"), (Texts{"preemption", "python"}));
  EXPECT_EQ(causes.integers("ns"), (Integers{600, 400}));
  const Table verdict = Compute(trace, "verdict");
  ASSERT_GE(verdict.rows(), 1u);
  EXPECT_EQ(verdict.texts("blame")[0], "train.py:4 main");
  EXPECT_DOUBLE_EQ(verdict.reals("share")[0], 1);
}

}  // namespace
}  // namespace crosscut::analyze
