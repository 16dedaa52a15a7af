// What a run of which little is left says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/import/importer.h"

namespace crosscut::import {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class NativeTold : public ::testing::Test {
 protected:
  NativeTold() : dir_(fs::path(::testing::TempDir()) / ("told-" + std::to_string(getpid()))) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~NativeTold() override { fs::remove_all(dir_); }

  std::vector<std::string> GapsWithRunJson(const std::string& text) {
    std::ofstream(dir_ / "run.json") << text;
    auto trace = Import(dir_.string());
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return trace.ok() ? trace->gaps : std::vector<std::string>();
  }

  fs::path dir_;
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

}  // namespace
}  // namespace crosscut::import
