#include "src/analyze/processes/process_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Parse;
using testing::Rows;

// Ids with the top bit set lead from process to process.
TEST(ProcessWaits, AreOfTheSpanThatWaitedAndForWhatEndedLast) {
  const trace::Trace trace = Parse(R"(
process driver window=0..100
thread main tid=1 base=python main
op collect 5 60
span get 10 50 comm
in -1 49
in -2 49
span get 70 90 comm
in -3 89
process fast window=0..100
thread main tid=2 base=python main
op sample 12 20
out -1 20
process slow window=0..100
thread main tid=3 base=python main
op sample 5 45
out -2 45
op sample 60 65
out -3 65
)");
  // process operation name for_process for_name count wait: before running after
  EXPECT_THAT(Rows(trace, "process_waits"),
              ElementsAre("driver collect get slow sample 1 40 0 35 5",
                          "driver - get slow sample 1 20 0 0 20"));
}

TEST(ProcessWaits, AreNoneWithinAProcessNorWhereSomethingIsCalled) {
  const trace::Trace trace = Parse(R"(
process driver window=0..100
thread main tid=1 base=python main
span call 10 20 comm
out -1 15
out -2 15
span read 30 40 comm
in -2 35
process actor window=0..100
thread main tid=2 base=python main
op sample 12 20
in -1 13
)");
  EXPECT_THAT(Rows(trace, "process_waits"), IsEmpty());
}

}  // namespace
}  // namespace crosscut::analyze
