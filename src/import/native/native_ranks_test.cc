#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/import/native/native_facts.h"
#include "src/trace/text.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Names(std::string_view text) {
  auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  NameRanks(&*trace);
  std::vector<std::string> out;
  for (const trace::Process& process : trace->processes) {
    out.emplace_back(trace->text(process.name));
  }
  return out;
}

TEST(NativeRanks, ProcessesThatStateARankAreNamedByIt) {
  EXPECT_THAT(Names("process agent window=0..9 name=run.py\n"
                    "process a parent=agent window=0..9 name=train.py\n"
                    "meta rank 0\nmeta world_size 2\nmeta rank_from RANK\n"
                    "process b parent=agent window=0..9 name=train.py\n"
                    "meta rank 1\nmeta world_size 2\nmeta rank_from RANK\n"),
              ElementsAre("run.py", "rank 0", "rank 1"));
}

TEST(NativeRanks, TheOnlyRankKeepsItsNameAsDoesOneThatNamedItself) {
  EXPECT_THAT(Names("process a window=0..9 name=train.py\nmeta rank 0\nmeta world_size 1\n"
                    "process b window=0..9 name=actor\n"
                    "meta rank 0\nmeta world_size 2\nmeta process_name actor\n"),
              ElementsAre("train.py", "actor"));
}

TEST(NativeRanks, TheNameThatMultiprocessingGivesIsNone) {
  const auto rank = [](const std::string& number, const std::string& name) {
    return "process p" + number + " parent=main window=0..9 name=\"" + name + "\"\nmeta rank " +
           number + "\nmeta world_size 4\nmeta rank_from init_process_group\nmeta process_name \"" +
           name + "\"\n";
  };
  EXPECT_THAT(Names("process main window=0..9 name=train.py\n" +
                    rank("0", "SpawnProcess-1 (spawn._wrap)") + rank("1", "Process-2:1 (work)") +
                    rank("2", "ForkPoolWorker-3") + rank("3", "Process of mine")),
              ElementsAre("train.py", "rank 0", "rank 1", "rank 2", "Process of mine"));
}

TEST(NativeRanks, ChildrenOfARankAndLaunchersAreNone) {
  EXPECT_THAT(Names("process agent window=0..9 name=run.py\n"
                    "meta rank 3\nmeta world_size 4\nmeta rank_from SLURM_PROCID\n"
                    "process a parent=agent window=0..9 name=train.py\n"
                    "meta rank 5\nmeta world_size 8\nmeta rank_from RANK\n"
                    "process loader parent=a window=0..9 name=loader\n"
                    "meta rank 5\nmeta world_size 8\nmeta rank_from RANK\n"),
              ElementsAre("run.py", "rank 5", "loader"));
}

TEST(NativeRanks, ActorsWithoutANameAreNamedByTheirRank) {
  EXPECT_THAT(Names("process a window=0..9 name=Trainer\n"
                    "meta role actor\nmeta actor_class Trainer\nmeta process_name Trainer\n"
                    "meta rank 1\nmeta world_size 2\n"
                    "process b window=0..9 name=Trainer\n"
                    "meta role actor\nmeta actor_class Trainer\nmeta process_name Trainer\n"
                    "meta actor_name chief\nmeta rank 0\nmeta world_size 2\n"),
              ElementsAre("Trainer (rank 1)", "Trainer"));
}

// Ended as by SIGKILL: while a thread of its own slept, at work, and one that is not Ray's.
TEST(NativeRanks, WorkersOfRayThatEndInTheirSleepAreComplete) {
  auto trace = trace::ParseText(
      "process a window=0..9 name=a\nmeta role worker\nmeta ray_version 2.60.0\n"
      "thread main tid=1\nop sample 2 5\nthread other tid=2\nspan sleep 6 9 idle\n"
      "process b window=0..9 name=b\nmeta role actor\nmeta ray_version 2.60.0\n"
      "thread main tid=3\nop sample 2 9\n"
      "process c window=0..9 name=c\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  for (trace::Process& process : trace->processes) {
    process.complete = false;
    process.why_incomplete =
        trace->strings.Intern("it ended without stopping (killed, aborted, or replaced by exec)");
  }
  ASSERT_EQ(trace->tracks.size(), 3u);
  trace->tracks[1].unfinished = trace->tracks[2].unfinished = 1;
  EXPECT_EQ(ExplainWorkers(&*trace),
            "Ray ended 1 worker without a word, none of them at work: all that was recorded is "
            "here.");
  EXPECT_TRUE(trace->processes[0].complete);
  EXPECT_FALSE(trace->processes[1].complete);
  EXPECT_FALSE(trace->processes[2].complete);
  EXPECT_EQ(ExplainWorkers(&*trace), "");
}

}  // namespace
}  // namespace crosscut::import
