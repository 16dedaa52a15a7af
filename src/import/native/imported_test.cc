// Several files as one trace: what of them is told not to be there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/base/testing/folder.h"
#include "src/import/importer.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ImportedTest : public ::testing::Test {
 protected:
  trace::Trace Of(const std::vector<std::string>& files) {
    std::string list;
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string name = std::to_string(i) + ".json";
      std::ofstream(dir_ / name) << files[i];
      list += (i == 0 ? "\"" : ", \"") + name + "\"";
    }
    std::ofstream(dir_ / "run.json") << R"({"format": 1, "imported": [)" << list << "]}";
    auto trace = Import(dir_.string());
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return std::move(*trace);
  }

  base::TestFolder folder_;
  const fs::path dir_ = folder_.path();
};

// A rank that begins at that microsecond of its file.
std::string Rank(int rank, const std::string& at, const std::string& facts,
                 const std::string& more = "") {
  return R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 4}, )" +
         facts + R"( "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 9, "tid": 9, "dur": 5, "ts": )" +
         at + "}" + more + "]}";
}

constexpr const char* kOnlyHere = R"_(,
      {"ph": "M", "name": "process_sort_index", "pid": 9, "args": {"sort_index": 3}},
      {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
      {"ph": "C", "name": "power", "pid": 9, "ts": 6, "args": {"W": 70}},
      {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9,
       "ts": 5, "dur": 9},
      {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "P",
       "ts": 5, "dur": 9})_";

TEST_F(ImportedTest, WhatOnlyAnExportOfOneFileWritesAgainIsCounted) {
  const std::string base = R"("baseTimeNanoseconds": 1700000000000000000,)";
  EXPECT_THAT(Of({Rank(0, "5", base, kOnlyHere)}).gaps, IsEmpty());
  EXPECT_THAT(
      Of({Rank(0, "5", base, kOnlyHere), Rank(1, "7", base, kOnlyHere)}).gaps,
      ElementsAre(
          "4 events of the files have no place in a run of several files, so an export "
          "leaves them out (metadata except names, asynchronous events, objects, "
          "marks of a whole trace).",
          "1 fact beside the events of later files is in no export, which has the first file's."));
}

TEST_F(ImportedTest, FilesWithAndWithoutABaseStandOnTheClockOfTheDay) {
  const trace::Trace trace = Of({Rank(0, "1700000000000005", ""),
                                 Rank(0, "7", R"("baseTimeNanoseconds": 1700000000000000000,)")});
  EXPECT_THAT(trace.gaps, IsEmpty());
  ASSERT_EQ(trace.processes.size(), 2u);
  EXPECT_EQ(trace.processes[1].start_ns - trace.processes[0].start_ns, 2000);
}

TEST_F(ImportedTest, FilesThatCountFromSomewhereStandOnNoCommonClock) {
  EXPECT_THAT(Of({Rank(0, "5", ""), Rank(0, "7", ""), Rank(0, "9", "")}).gaps,
              ElementsAre("Of the inputs not all know the time of day: they do not stand on one "
                          "clock."));
}

}  // namespace
}  // namespace crosscut::import
