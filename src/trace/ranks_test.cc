#include "src/trace/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "0 2 of 4", a job each.
std::vector<std::string> Jobs(const std::string& text) {
  const auto trace = ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  std::vector<std::string> out;
  for (const Job& job : JobsOf(*trace)) {
    std::string& told = out.emplace_back();
    for (const int64_t rank : job.ranks) told += std::to_string(rank) + " ";
    told += "of " + std::to_string(job.world_size);
  }
  return out;
}

TEST(Ranks, OfOneLauncherAreOneJobWhoeverOfTheirChildrenSaysItAgain) {
  EXPECT_THAT(Jobs("process agent window=0..9\n"
                   "meta rank 3\nmeta world_size 8\nmeta rank_from SLURM_PROCID\n"
                   "process a window=0..9\nmeta rank 0\nmeta world_size 4\nmeta rank_from RANK\n"
                   "process b window=0..9\nmeta rank 2\nmeta world_size 4\nmeta rank_from RANK\n"
                   "process c window=0..9\nmeta rank 2\nmeta world_size 4\nmeta rank_from RANK\n"),
              ElementsAre("0 2 of 4", "3 of 8"));
}

TEST(Ranks, AreWhatKinetosFilesState) {
  EXPECT_THAT(Jobs("process a window=0..9\n"
                   "meta distributedInfo {\"rank\": 1, \"world_size\": 2}\n"
                   "process b window=0..9\n"
                   "meta distributedInfo {\"rank\": 0, \"world_size\": 2}\n"),
              ElementsAre("0 1 of 2"));
}

TEST(Ranks, OfJoinedFilesTakeTheSizeFromWhereItStands) {
  EXPECT_THAT(Jobs("process a window=0..9\nmeta rank 5\n"
                   "meta distributedInfo {\"rank\": 0, \"world_size\": 8}\n"
                   "process b window=0..9\nmeta rank 6\n"),
              ElementsAre("5 6 of 8"));
}

TEST(Ranks, ThatCannotBeAreNone) {
  EXPECT_THAT(Jobs("process a window=0..9\nmeta rank 4\nmeta world_size 4\n"
                   "process b window=0..9\nmeta rank -1\nmeta world_size 4\n"
                   "process c window=0..9\nmeta distributedInfo {\"rank\": \n"
                   "process d window=0..9\nmeta rank one\nmeta world_size 4\n"),
              IsEmpty());
}

}  // namespace
}  // namespace crosscut::trace
