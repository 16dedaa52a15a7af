// Memory tables, on traces whose figures can be had by hand, and against a brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "src/analyze/memory/memory_events.h"
#include "src/analyze/memory/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;
using testing::Rows;
using ::testing::StartsWith;

std::string Memory(int64_t at, int64_t address, int64_t bytes, int64_t total = kMissing) {
  std::string text = "instant [memory] " + std::to_string(at) + "\narg \"Device Type\" 0\n" +
                     "arg \"Device Id\" -1\narg Addr " + std::to_string(address) + "\narg Bytes " +
                     std::to_string(bytes) + "\n";
  if (total != kMissing) text += "arg \"Total Allocated\" " + std::to_string(total) + "\n";
  return text;
}

// The lead allocates in two operators of an operation, a helper thread outside of all.
std::string TwoThreads() {
  return "# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\nop work 10 60\n"
         "span \"nn.Module: Linear_0\" 11 50 python\nspan aten::linear 12 50 framework\n"
         "span aten::addmm 20 40 framework\n" +
         Memory(25, 1, 100, 100) + Memory(45, 2, 30, 130) + Memory(70, 1, -100, 87) +
         "thread helper tid=2\n" + Memory(50, 3, 50, 180) + Memory(65, 3, -50, 130) +
         Memory(68, 4, 7, 187);
}

TEST(Memory, ThePeakIsWhatWasAllocatedByWhom) {
  EXPECT_THAT(Rows(Parse(TwoThreads()), "memory"), ElementsAre("p cpu 4 2 187 150 0 187 68 87 0"));
  // At 68 the allocator tells 50 bytes more than the blocks that were seen.
  EXPECT_THAT(Rows(Parse(TwoThreads()), "memory_peak"),
              ElementsAre("p cpu work aten::addmm nn.Module: Linear_0 1 100",
                          "p cpu work aten::linear nn.Module: Linear_0 1 30", "p cpu - - - 1 7",
                          "p cpu - (not recorded) - ? 50"));
}

TEST(Memory, EachChangeIsListedWithTheSpanThatItsThreadWasIn) {
  EXPECT_THAT(Rows(Parse(TwoThreads()), "memory_events"),
              ElementsAre("p main cpu 25 3 1 100 100", "p main cpu 45 2 2 30 130",
                          "p helper cpu 50 ? 3 50 180", "p helper cpu 65 ? 3 -50 130",
                          "p helper cpu 68 ? 4 7 187", "p main cpu 70 ? 1 -100 87"));
}

TEST(Memory, ThreadsWithoutAnOperationWorkForTheLeads) {
  const std::vector<DeviceMemory> memory = MemoryUse(Parse(TwoThreads())).devices;
  ASSERT_EQ(memory.size(), 1u);
  ASSERT_EQ(memory[0].blocks.size(), 4u);
  EXPECT_TRUE(memory[0].blocks[2].owner.operation.valid());
  EXPECT_FALSE(memory[0].blocks[3].owner.operation.valid());
}

TEST(Memory, OperatorsHaveTheirOwnAndWhatTheyCalled) {
  EXPECT_THAT(Rows(Parse(TwoThreads()), "memory_operators"),
              ElementsAre("p cpu aten::addmm 1 0 100 0 100 100", "p cpu - 2 2 57 150 -93 -93",
                          "p cpu aten::linear 1 0 30 0 30 130"));
}

TEST(Memory, SumsThatDoNotFitAreNotKnown) {
  const int64_t huge = int64_t{1} << 62;
  std::string text = "# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\n";
  for (int64_t i = 1; i <= 3; ++i) text += Memory(10 * i, i, huge);
  text += Memory(40, 1, -huge) + Memory(50, 2, -huge) + Memory(60, 3, -huge);
  const trace::Trace trace = Parse(text);
  EXPECT_THAT(Rows(trace, "memory"), ElementsAre("p cpu 3 3 ? ? 0 ? 20 ? 0"));
  EXPECT_THAT(Rows(trace, "memory_operators"), ElementsAre("p cpu - 3 3 ? ? ? ?"));
  EXPECT_THAT(Rows(trace, "memory_peak").size(), 1);
}

TEST(Memory, TimeIsCutInEqualParts) {
  const std::vector<std::string> rows = Rows(Parse(TwoThreads()), "memory_timeline");
  EXPECT_EQ(rows.front(), "p cpu 25 26 0 100 100");
  EXPECT_THAT(rows, Contains("p cpu 26 27 100 100 100"));
  EXPECT_EQ(rows.back(), "p cpu 99 100 87 87 87");
}

std::string Steps(int count) {
  std::string text = "# crosscut trace\nprocess p window=0.." + std::to_string(count * 10 + 5) +
                     "\nthread main tid=1 main lead\n";
  for (int i = 0; i < count; ++i) {
    text += "step step " + std::to_string(i * 10) + " " + std::to_string(i * 10 + 10) +
            " number=" + std::to_string(i) + " level=3\n";
  }
  return text;
}

TEST(Memory, WhatIsHeldTwoStepsLaterLeaks) {
  const std::string text = Steps(6) + Memory(5, 1, 10) +  // step 0: freed at the end of step 2
                           Memory(6, 2, 20) +             // step 0: freed in step 3
                           Memory(15, 3, 40) +            // step 1: never freed
                           Memory(30, 1, -10) + Memory(31, 2, -20) +
                           Memory(45, 4, 80);  // step 4: too late to tell
  EXPECT_THAT(Rows(Parse(text), "memory_leaks"), ElementsAre("p cpu - - - 2 2 2 60 40 -"));
  EXPECT_THAT(Rows(Parse(text), "findings"), IsEmpty());
}

// What an allocator did while nobody looked at it is not known: a block that it had then may have
// been freed at once.
TEST(Memory, BlocksThatNobodyLooksAtLeakNoLonger) {
  const auto allocator = [](std::string mark) {
    const size_t at = mark.find("arg \"Device Type\""), end = mark.find("arg Addr");
    return mark.replace(at, end - at, "arg Allocator \"GPU_0_bfc\"\n");
  };
  const std::string unseen = "instant \"[memory unseen]\" 8\n";
  const std::string text = Steps(8) + Memory(5, 1, 10) + allocator(Memory(5, 1, 10, 10)) + unseen +
                           allocator(Memory(45, 2, 20, 70)) + allocator(Memory(52, 1, 40, 110));
  EXPECT_THAT(Rows(Parse(text), "memory_leaks"),
              ElementsAre("p cpu - - - 1 1 1 10 10 -", "p GPU_0_bfc - - - 3 2 2 60 60 -"));
  EXPECT_THAT(Rows(Parse(text), "memory_peak"),
              ElementsAre("p cpu - - - 1 10", "p GPU_0_bfc - - - 2 60",
                          "p GPU_0_bfc - (not recorded) - ? 50"));
  EXPECT_THAT(Rows(Parse(text), "memory"),
              ElementsAre("p cpu 1 0 10 0 0 10 5 10 0", "p GPU_0_bfc 3 0 70 0 0 110 52 110 0"));
}

TEST(Memory, GrowthIsAFinding) {
  std::string text = Steps(8);
  for (int i = 0; i < 8; ++i) text += Memory(i * 10 + 5, i + 1, 1024);
  EXPECT_THAT(Rows(Parse(text), "memory_leaks"),
              ElementsAre(StartsWith("p cpu - - - 6 6 6 6144 6144 6 KiB of")));
  EXPECT_THAT(Rows(Parse(text), "findings"),
              ElementsAre(HasSubstr("6 KiB of memory (cpu) that no operator allocated in 6 of 6 "
                                    "steps were still held two steps later. memory_leaks ?")));
}

TEST(Memory, FailuresTellWhatWasAskedFor) {
  const trace::Trace trace = Parse(
      "# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\n"
      "span aten::empty 5 20 framework\ninstant [OutOfMemory] 10\narg \"Device Type\" 1\n"
      "arg \"Device Id\" 0\narg Bytes 3221225472\narg \"Total Allocated\" 1024\n"
      "arg \"Total Reserved\" 2048\n");
  EXPECT_THAT(Rows(trace, "memory_failures"),
              ElementsAre(StartsWith("p main cuda:0 - aten::empty 10 3221225472 1024 2048 Out")));
  EXPECT_THAT(Rows(trace, "memory"), ElementsAre("p cuda:0 0 0 0 0 0 0 ? 0 1"));
  EXPECT_THAT(Rows(trace, "findings"),
              ElementsAre(HasSubstr("Out of memory (cuda:0): 3 GiB for aten::empty could not be "
                                    "allocated, with 1 KiB held.")));
}

// What costs something to record is counted as a probe's, though it is no span.
TEST(Memory, InstantsThatCostAreOverhead) {
  const trace::Trace trace = Parse(
      "# crosscut trace\nprocess p window=0..1000000\nprobe allocation 0 3000 2000 4000 10\n"
      "thread main tid=1 main lead\nop work 0 500000\nspan f 0 500000 native\n"
      "instant [memory] 7 probe=allocation\ninstant [memory] 600000 probe=allocation\n"
      "instant other 8\n");
  EXPECT_THAT(Rows(trace, "overhead"), Contains(HasSubstr("allocation 2 0 ")));
}

// Stamps of files are coarse: the peak lies between two changes of one instant.
TEST(Memory, ThePeakIsAtItsChangeWhereSeveralAreOfOneInstant) {
  const std::string text =
      "# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\n"
      "span aten::a 0 20 framework\n" +
      Memory(10, 1, 100) + Memory(10, 1, -100) + "span aten::b 20 40 framework\n" +
      Memory(30, 2, 50);
  EXPECT_THAT(Rows(Parse(text), "memory_peak"), ElementsAre("p cpu - aten::a - 1 100"));
}

TEST(Memory, WhatAFailureDoesNotStateIsMissing) {
  const trace::Trace trace = Parse(
      "# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\n"
      "instant [OutOfMemory] 10\narg \"Device Type\" 1\narg \"Device Id\" 0\narg Bytes 7\n");
  EXPECT_THAT(Rows(trace, "memory_failures"),
              ElementsAre(StartsWith("p main cuda:0 - - 10 7 ? ? ")));
}

TEST(Memory, AnAmountWithoutAnOppositeIsNone) {
  const trace::Trace trace =
      Parse("# crosscut trace\nprocess p window=0..100\nthread main tid=1 main lead\n" +
            Memory(10, 1, 100) + Memory(20, 1, INT64_MIN));
  EXPECT_THAT(Rows(trace, "memory"), ElementsAre("p cpu 1 0 100 0 0 100 10 100 0"));
  EXPECT_THAT(Rows(trace, "memory_operators"), ElementsAre("p cpu - 1 0 100 0 100 100"));
}

// Every moment by itself.
TEST(Memory, AgreesWithABruteForce) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string threads[2] = {"thread a tid=1 main lead\nspan aten::a 0 150 framework\n",
                              "thread b tid=2\nspan aten::b 0 150 framework\n"};
    std::map<int64_t, std::pair<int64_t, int>> live;  // address to bytes, thread
    int64_t total = 0, peak = 0;
    std::map<int, int64_t> at_peak;
    for (int64_t at = 1; at < 100; ++at) {
      const int thread = static_cast<int>(random() % 2);
      const auto address = static_cast<int64_t>(1 + random() % 9);
      if (const auto block = live.find(address); block != live.end()) {
        total -= block->second.first;
        threads[thread] += Memory(at, address, -block->second.first);
        live.erase(block);
      } else {
        const auto bytes = static_cast<int64_t>(1 + random() % 1000);
        live[address] = {bytes, thread};
        total += bytes;
        threads[thread] += Memory(at, address, bytes);
      }
      if (total <= peak) continue;
      peak = total;
      at_peak.clear();
      for (const auto& [unused, block] : live) at_peak[block.second] += block.first;
    }
    const trace::Trace trace =
        Parse("# crosscut trace\nprocess p window=0..150\n" + threads[0] + threads[1]);
    const Context context(trace);
    const Table table = MemoryPeakTable(trace, context);
    std::map<int, int64_t> found;
    for (size_t i = 0; i < table.rows(); ++i) {
      found[table.texts("operator")[i] == "aten::b"] += table.integers("bytes")[i];
    }
    ASSERT_EQ(found, at_peak) << "round " << round;
    ASSERT_EQ(MemoryTable(trace, context).integers("peak_bytes")[0], peak);
    ASSERT_EQ(MemoryTable(trace, context).integers("end_bytes")[0], total);
  }
}

}  // namespace
}  // namespace crosscut::analyze
