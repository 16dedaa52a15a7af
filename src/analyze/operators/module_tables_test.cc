// Modules and the backward time that they cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analyze/operators/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using testing::Parse;

// Net calls Net.fc twice; the backward pass runs each node once, and once more for a kept graph.
constexpr std::string_view kTraining = R"_(# crosscut trace
process train pid=7 window=0..2000
thread main tid=7 main lead
op forward 0 500
span "nn.Module: Net" 10 490
span "nn.Module: Net.fc (Linear)" 20 120
span aten::addmm 30 110 framework
out 1 31
span "nn.Module: Net.fc (Linear)" 200 260
span aten::addmm 210 250 framework
out 2 211
span aten::sum 300 400 framework
out 3 301
span cudaLaunchKernel 310 320 runtime
out 99 310
op backward 600 1900
span "autograd::engine::evaluate_function: SumBackward0" 700 800 framework
span SumBackward0 710 790 framework
in 3 711
span "autograd::engine::evaluate_function: AddmmBackward0" 800 1000 framework
span AddmmBackward0 810 990 framework
in 2 811
span "autograd::engine::evaluate_function: AddmmBackward0" 1000 1300 framework
span AddmmBackward0 1010 1290 framework
in 1 1011
span cudaLaunchKernel 1020 1030 runtime
out 98 1020
span "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad" 1300 1350 framework
span "autograd::engine::evaluate_function: SumBackward0" 1500 1540 framework
span SumBackward0 1505 1535 framework
in 3 1506
device stream7 device=0 stream=7
span reduce 400 440 device
in 99 400
span gemm 1100 1170 device
in 98 1100
)_";

TEST(Modules, TakeTheBackwardTimeThatTheirOperatorsCaused) {
  const trace::Trace trace = Parse(kTraining);
  const Context context(trace);
  const Table table = ModulesTable(trace, context);
  EXPECT_THAT(table.texts("module"), ElementsAre("Net.fc (Linear)", "Net", ""));
  EXPECT_THAT(table.integers("count"), ElementsAre(2, 1, 0));
  EXPECT_THAT(table.integers("total_ns"), ElementsAre(160, 480, 0));
  EXPECT_THAT(table.integers("self_ns"), ElementsAre(160, 320, 0));
  EXPECT_THAT(table.integers("device_ns"), ElementsAre(0, 40, 0));
  EXPECT_THAT(table.integers("backward_ns"), ElementsAre(500, 140, 50));
  EXPECT_THAT(table.integers("backward_device_ns"), ElementsAre(70, 0, 0));
}

TEST(Backward, IsTimeByForwardOperatorModuleAndOperation) {
  const trace::Trace trace = Parse(kTraining);
  const Context context(trace);
  const Table table = BackwardTable(trace, context);
  EXPECT_THAT(table.texts("operation"), ElementsAre("forward", "forward", ""));
  EXPECT_THAT(table.texts("module"), ElementsAre("Net.fc (Linear)", "Net", ""));
  EXPECT_THAT(table.texts("operator"), ElementsAre("aten::addmm", "aten::sum", ""));
  EXPECT_THAT(table.integers("count"), ElementsAre(2, 2, 1));
  EXPECT_THAT(table.integers("backward_ns"), ElementsAre(500, 140, 50));
  EXPECT_THAT(table.integers("device_ns"), ElementsAre(70, 0, 0));
}

TEST(Backward, InsideABackwardPassCountsForItselfAlone) {
  const trace::Trace trace = Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main lead
span aten::mul 0 10 framework
out 1 1
span "autograd::engine::evaluate_function: CheckpointBackward" 100 500 framework
span CheckpointBackward 110 490 framework
span aten::mul 120 130 framework
out 2 121
span "autograd::engine::evaluate_function: MulBackward0" 200 300 framework
span MulBackward0 210 290 framework
in 2 211
)_");
  const Context context(trace);
  const Table table = BackwardTable(trace, context);
  EXPECT_THAT(table.texts("operator"), ElementsAre("", "aten::mul"));
  EXPECT_THAT(table.integers("backward_ns"), ElementsAre(300, 100));
}

}  // namespace
}  // namespace crosscut::analyze
