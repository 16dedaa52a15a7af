#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analyze/processes/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;
using testing::Rows;

// Ids with the top bit set lead from process to process: -2 is a call's arrow, -1 its result's.
TEST(ProcessWaits, AreOfTheSpanThatWaitedAndForWhatEndedLast) {
  const trace::Trace trace = Parse(R"(
process driver window=0..100
thread main tid=1 base=python main
span call 1 2 comm
out -2 1
out -4 1
op collect 5 60
span get 10 50 comm
in -1 49
in -3 49
span get 70 90 comm
in -5 89
process fast window=0..100
thread main tid=2 base=python main
op sample 12 20
in -2 12
out -1 20
process slow window=0..100
thread main tid=3 base=python main
op sample 15 45
in -4 15
out -3 45
op sample 60 65
out -5 65
)");
  // process operation name for_process for_name count wait: before running after
  EXPECT_THAT(Rows(trace, "process_waits"),
              ElementsAre("driver collect get slow sample 1 40 5 30 5",
                          "driver - get slow sample 1 20 ? ? 20"));
  EXPECT_THAT(Rows(trace, "findings"),
              ElementsAre(HasSubstr("collect waited 40 ns (40 % of the window) in get for sample "
                                    "of slow, once: 5 ns before that began, 30 ns while it ran, "
                                    "5 ns after its end."),
                          HasSubstr("of slow, once: 20 ns after its end.")));
}

// Its slices are operations of the same name; what was put was called by nobody.
TEST(ProcessWaits, ForACoroutineBeginWithItsFirstSlice) {
  const trace::Trace trace = Parse(R"(
process driver window=0..100
thread main tid=1 base=python main
span call 1 2 comm
out -2 1
span get 10 50 comm
in -1 49
process actor window=0..100
thread loop tid=2 base=python main
op keep 12 14
in -2 12
op keep 20 21
op keep 30 40
out -1 40
span put 60 65 comm
out -7 64
process reader window=0..100
thread main tid=3 base=python main
span get 62 70 comm
in -7 69
)");
  EXPECT_THAT(Rows(trace, "process_waits"), ElementsAre("driver - get actor keep 1 40 2 28 10",
                                                        "reader - get actor put 1 8 0 3 5"));
}

// As a damaged log may have it: the call's arrow ends in what ran behind the result.
TEST(ProcessWaits, WhatEndedDidNotBeginAfterwards) {
  const trace::Trace trace = Parse(R"(
process driver window=0..1000
thread main tid=1 base=python main
span call 0 1 comm
out -2 0
span get 1 1000 comm
in -1 999
process actor window=0..1000
thread main tid=2 base=python main
op sample 100 300
out -1 300
op sample 500 600
in -2 500
)");
  EXPECT_THAT(Rows(trace, "process_waits"), ElementsAre("driver - get actor sample 1 999 ? ? 700"));
}

TEST(ProcessWaits, AreNoneWithinAProcessNorWhereSomethingIsCalled) {
  const trace::Trace trace = Parse(R"(
process driver window=0..100
thread main tid=1 base=python main
span call 10 20 comm
out -2 15
out -3 15
span read 30 40 comm
in -3 35
process actor window=0..100
thread main tid=2 base=python main
op sample 12 20
in -2 13
)");
  EXPECT_THAT(Rows(trace, "process_waits"), IsEmpty());
}

}  // namespace
}  // namespace crosscut::analyze
