#include "src/verbs/check_plugin.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace crosscut::verbs {
namespace {

class CheckPluginVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-check-verb-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A file beside a pretended crosscut.
  void Write(const std::string& name, mode_t mode) {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n";
    chmod((folder_ + "/" + name).c_str(), mode);
  }

  std::string folder_;
};

TEST_F(CheckPluginVerb, FindsTheCheckerBesideTheProgram) {
  Write("crosscut-check-plugin", 0755);
  EXPECT_EQ(CheckerBeside(folder_ + "/crosscut"), folder_ + "/crosscut-check-plugin");
}

TEST_F(CheckPluginVerb, FindsNothingWhereItIsMissingOrNoProgram) {
  EXPECT_EQ(CheckerBeside(folder_ + "/crosscut"), "");
  if (geteuid() == 0) return;  // may execute nothing without an x bit, but access() says so
  Write("crosscut-check-plugin", 0644);
  EXPECT_EQ(CheckerBeside(folder_ + "/crosscut"), "");
}

TEST_F(CheckPluginVerb, SaysWhereItLookedWhenThereIsNoChecker) {
  const Status status = CheckPlugin({"plugin.so"});  // this test's own folder has none
  EXPECT_EQ(status.code(), Status::Code::kNotFound);
  EXPECT_NE(status.message().find("crosscut-check-plugin"), std::string_view::npos);
}

}  // namespace
}  // namespace crosscut::verbs
