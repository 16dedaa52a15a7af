// What a run of which little is left says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/base/testing/folder.h"
#include "src/import/importer.h"
#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class NativeTold : public ::testing::Test {
 protected:
  std::vector<std::string> GapsWithRunJson(const std::string& text) {
    std::ofstream(dir_ / "run.json") << text;
    auto trace = Import(dir_.string());
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return trace.ok() ? trace->gaps : std::vector<std::string>();
  }

  base::TestFolder folder_;
  const fs::path dir_ = folder_.path();
};

TEST_F(NativeTold, NobodyRecorded) {
  EXPECT_THAT(GapsWithRunJson(R"({"format": 1, "command": ["python"]})"),
              ElementsAre("No process of this run recorded anything."));
}

TEST_F(NativeTold, TheCommandIsNotKnown) {
  EXPECT_THAT(GapsWithRunJson("{"),
              ElementsAre("No process of this run recorded anything.",
                          "run.json cannot be read: the command is not known."));
}

TEST_F(Native, LogsOfTwoHostsAreRefused) {
  for (const char* host : {"alpha", "beta"}) {
    Words session = Session();
    session.Meta("host", host).Meta("boot_id", host == std::string("alpha") ? "1f" : "2e");
    session.At(900, format::kStop, {format::kStopExit});
    Write(host == std::string("alpha") ? "p1-1" : "p2-2", session, {});
  }
  const auto trace = Import(dir_.string());
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(
      trace.status().message(),
      ::testing::HasSubstr("holds the logs of two hosts, or of two boots of one (alpha, and "
                           "beta with p2-2)"));
}

TEST_F(Native, TellsOfNamesThatWereCutOrForWhichThereWasNoRoom) {
  Words session = Session();
  session.Name(0x100, std::string(format::kMaxTextBytes - 9, 'x') + "...[cut]");
  session.Name(0x101, "(unnamed)");
  session.Name(0xffffffff, "beyond");
  session.At(900, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(10, 1, format::kThreadIsMain | format::kLayerPython);
  for (const uint64_t at : {100, 300}) main.At(at, 0x101).At(at + 50, format::kEnd);
  Write("p1-1", session, {main});
  EXPECT_THAT(
      Read().gaps,
      ElementsAre(
          "Process p1-1 (pid 4000001): 2 events have lost their names, for which there was no "
          "room: they stand under (unnamed).",
          "Process p1-1 (pid 4000001): 1 name was longer than 1 MiB and is cut.",
          "Process p1-1 (pid 4000001): 1 name could not be kept."));
}

TEST_F(Native, TellsOnceWhatIsMissingFromSeveralProcessesWithItsSum) {
  for (const char* key : {"p1-1", "p2-2", "p3-3"}) {
    Words session = Session();
    session.Name(0x100, std::string(format::kMaxTextBytes - 9, 'x') + "...[cut]");
    if (key[1] != '2') session.Name(0xffffffff, "beyond");
    session.At(900, format::kStop, {format::kStopExit});
    Write(key, session, {});
  }
  EXPECT_THAT(Read().gaps,
              ElementsAre("3 processes, such as p1-1 (pid 4000001): 3 names were longer than 1 MiB "
                          "and are cut.",
                          "2 processes, such as p1-1 (pid 4000001): 2 names could not be kept."));
}

TEST_F(Native, TellsOfProcessesThatCouldNotBeRecorded) {
  std::ofstream(dir_ / "note-12.txt") << "process 12 is not recorded: Python 2.7\nmore\n";
  std::ofstream(dir_ / "note-13.txt") << "";
  std::ofstream(dir_ / "note-ended.txt") << "the command ended with exit status 4\n";
  std::ofstream(dir_ / "note-children-asan.txt") << "a child is not recorded: p\n\n\n";
  std::ofstream(dir_ / "note-children-tsan.txt") << "a child is not recorded: q\n";
  Words session = Session();
  session.At(900, format::kStop, {format::kStopExit});
  Write("p1-1", session, {});
  EXPECT_THAT(Read().gaps, ElementsAre("The command ended with exit status 4.",  // comes first
                                       "Process 12 is not recorded: Python 2.7.",
                                       "A child is not recorded: p (nor are 2 more like it).",
                                       "A child is not recorded: q."));
}

}  // namespace
}  // namespace crosscut::import
