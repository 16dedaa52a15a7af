#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "src/analyze/operators/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using testing::Parse;

// aten::mm is called from two lines, its node runs on another thread, and it launches two kernels.
constexpr std::string_view kTraining = R"text(# crosscut trace
process p pid=1 window=0..1000
thread main tid=1 base=python main lead
span "train (train.py:5)" 0 900 python
span aten::linear 10 40 framework at=7
span aten::mm 15 35 framework
out 1 15
span cudaLaunchKernel 20 25 runtime
out 100 22
span aten::mm 50 60 framework at=8
out 2 50
span cudaLaunchKernel 70 80 runtime at=9
out 101 75
thread engine tid=2
span "autograd::engine::evaluate_function: MmBackward0" 200 300 framework
span MmBackward0 210 290 framework
in 1 210
span aten::mm 220 280 framework
device gpu stream=7 device=0
span gemm 30 130 device
in 100 30
span copy 130 150 device
in 101 130
)text";

struct Row {
  std::string op, stack, forward, forward_stack;
  int64_t count, total_ns, self_ns, device_ns;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.op << " | " << row.stack << " | " << row.forward << " | " << row.forward_stack
       << " | " << row.count << " " << row.total_ns << " " << row.self_ns << " " << row.device_ns;
}

std::vector<Row> Rows(const Table& t) {
  std::vector<Row> rows;
  for (size_t i = 0; i < t.rows(); ++i) {
    rows.push_back({t.texts("operator")[i], t.texts("stack")[i], t.texts("forward")[i],
                    t.texts("forward_stack")[i], t.integers("count")[i], t.integers("total_ns")[i],
                    t.integers("self_ns")[i], t.integers("device_ns")[i]});
  }
  return rows;
}

TEST(OperatorStacks, TellLinesCausesAndDeviceWork) {
  const trace::Trace trace = Parse(kTraining);
  const std::string caused = "train.py:7 train";
  EXPECT_THAT(Rows(Compute(trace, "operator_stacks")),
              ElementsAre(Row{"aten::mm", "train.py:7 train", "", "", 1, 20, 15, 100},
                          Row{"cudaLaunchKernel", "train.py:9 train", "", "", 1, 10, 10, 20},
                          Row{"aten::mm", "", "aten::mm", caused, 1, 60, 60, 0},
                          Row{"autograd::engine::evaluate_function: MmBackward0", "", "aten::mm",
                              caused, 1, 100, 20, 0},
                          Row{"MmBackward0", "", "aten::mm", caused, 1, 80, 20, 0},
                          Row{"aten::linear", "train.py:7 train", "", "", 1, 30, 10, 0},
                          Row{"aten::mm", "train.py:8 train", "", "", 1, 10, 10, 0}));
}

TEST(OperatorStacks, AddUpToFunctionsAndToTheLaunchedWork) {
  const trace::Trace trace = Parse(kTraining);
  const Table functions = Compute(trace, "functions");
  std::map<std::string, int64_t> count, self;
  int64_t device = 0;
  for (const Row& row : Rows(Compute(trace, "operator_stacks"))) {
    count[row.op] += row.count;
    self[row.op] += row.self_ns;
    device += row.device_ns;
  }
  EXPECT_EQ(device, 120);
  int operators = 0;
  for (size_t i = 0; i < functions.rows(); ++i) {
    if (functions.texts("layer")[i] != "framework") continue;
    ++operators;
    const std::string& name = functions.texts("name")[i];
    EXPECT_EQ(count[name], functions.integers("count")[i]) << name;
    EXPECT_EQ(self[name], functions.integers("self_ns")[i]) << name;
  }
  EXPECT_EQ(operators, 4);
}

}  // namespace
}  // namespace crosscut::analyze
