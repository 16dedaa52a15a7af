// From options, environment and the run's own description to the settings of a session.
#include "src/runtime/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "src/collect/clock.h"
#include "src/runtime/error.h"

namespace crosscut::record {
namespace {

using Variables = std::map<std::string, std::string>;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    ClockInit(false);
    char path[] = "/tmp/crosscut-settings-XXXXXX";
    dir_ = mkdtemp(path);
    options_.struct_size = sizeof options_;
    options_.control_percent = -1;
    for (const char* name : {"MEMORY", "KEEP", "SEED", "SOURCES", "PYTHON", "PLAN", "BUDGET",
                             "CONTROL_STEPS", "RUN", "RUN_ID"}) {
      unsetenv(("CROSSCUT_" + std::string(name)).c_str());
    }
  }
  ~SettingsTest() override { std::filesystem::remove_all(dir_); }

  // With these variables; a run directory that is made.
  int Fill(const Variables& variables = {}, const char* plan = kPlanOfRuns) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    run_ = dir_ + "/" + std::to_string(++runs_);
    if (options_.run_dir == nullptr) options_.run_dir = run_.c_str();
    settings_ = {};
    const int error = FillSettings(&options_, plan, &settings_);
    if (options_.run_dir == run_.c_str()) options_.run_dir = nullptr;
    for (const auto& [name, value] : variables) unsetenv(name.c_str());
    return error;
  }
  std::string Plan() const {
    char text[200];
    format::WriteStepShares(settings_.shares, text, sizeof text);
    return text;
  }

  std::string dir_, run_;
  crosscut_options options_ = {};
  Settings settings_ = {};
  int runs_ = 0;
};

TEST_F(SettingsTest, MemoryIsWhatIsAskedForWithinItsBounds) {
  const std::vector<std::pair<const char*, size_t>> good = {
      {"", size_t{64} << 20},       {"1", size_t{2} << 20},      {"2", size_t{2} << 20},
      {"3", size_t{3} << 20},       {"100M", size_t{100} << 20}, {"2G", size_t{2} << 30},
      {"1048576", size_t{64} << 30}};
  for (const auto& [text, bytes] : good) {
    ASSERT_EQ(Fill({{"CROSSCUT_MEMORY", text}}), CROSSCUT_OK) << text;
    EXPECT_EQ(settings_.memory_bytes, bytes) << text;
  }
  for (const char* bad : {"0", "0.5", "1048577", "-3", "much", "3x"}) {
    EXPECT_EQ(Fill({{"CROSSCUT_MEMORY", bad}}), CROSSCUT_EINVAL) << bad;
    EXPECT_EQ(std::string(LastError()),
              "CROSSCUT_MEMORY is " + std::string(bad) + ": not a number of MiB from 1 to 1048576");
  }
  const std::vector<std::pair<size_t, size_t>> options = {
      {1, 2 << 20}, {(2 << 20) + 1, (2 << 20) + 1}, {size_t{1} << 40, size_t{64} << 30}};
  for (const auto& [asked, bytes] : options) {
    options_.memory_bytes = asked;
    ASSERT_EQ(Fill({{"CROSSCUT_MEMORY", "much"}}), CROSSCUT_OK) << "it is not looked at";
    EXPECT_EQ(settings_.memory_bytes, bytes);
  }
}

TEST_F(SettingsTest, AFlightRecorderIsWhoKeepsATime) {
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_FALSE(settings_.flight_recorder);
  EXPECT_EQ(settings_.keep_seconds, 0);
  ASSERT_EQ(Fill({{"CROSSCUT_KEEP", "1.5"}}), CROSSCUT_OK);
  EXPECT_TRUE(settings_.flight_recorder);
  EXPECT_EQ(settings_.keep_seconds, 1.5);
  ASSERT_EQ(Fill({{"CROSSCUT_KEEP", "0"}}), CROSSCUT_OK);
  EXPECT_FALSE(settings_.flight_recorder);
  ASSERT_EQ(Fill({{"CROSSCUT_KEEP", "1000000"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.keep_seconds, 1e6);
  for (const char* bad : {"1000001", "-1", "long"}) {
    EXPECT_EQ(Fill({{"CROSSCUT_KEEP", bad}}), CROSSCUT_EINVAL) << bad;
  }
  options_.policy = CROSSCUT_FLIGHT_RECORDER;
  options_.keep_seconds = 3;
  ASSERT_EQ(Fill({{"CROSSCUT_KEEP", "1.5"}}), CROSSCUT_OK);
  EXPECT_TRUE(settings_.flight_recorder);
  EXPECT_EQ(settings_.keep_seconds, 3);
}

TEST_F(SettingsTest, TheSeedIsTheOptionsThenTheEnvironmentsThenTheRuns) {
  ASSERT_EQ(Fill({{"CROSSCUT_SEED", "7"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, 7);
  ASSERT_EQ(Fill({{"CROSSCUT_SEED", "0x10"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, 16);
  EXPECT_EQ(Fill({{"CROSSCUT_SEED", "7x"}}), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(LastError()), "CROSSCUT_SEED is 7x: not a whole number");
  options_.seed = 5;
  ASSERT_EQ(Fill({{"CROSSCUT_SEED", "7x"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, 5);
  options_.seed = 0;
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  const uint64_t drawn = settings_.seed;
  EXPECT_NE(drawn, 0);
  const std::string first = run_;
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_NE(settings_.seed, drawn) << "of another run";
  options_.run_dir = first.c_str();
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, drawn) << "of all processes of a run";
  ASSERT_EQ(Fill({{"CROSSCUT_SEED", "7"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, 7);
  std::ofstream(first + "/run.json") << "{\"x\": \"seed\", \"seed\" : 4711}";
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(settings_.seed, 4711);
}

TEST_F(SettingsTest, ThePlanIsTheOptionsThenTheEnvironmentsThenTheUsualOne) {
  ASSERT_EQ(Fill({}, kPlanOfWindows), CROSSCUT_OK);
  const std::string full = Plan();
  EXPECT_EQ(settings_.budget, 0) << "of a window there is none";
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  const std::string balanced = Plan();
  EXPECT_NE(balanced, full);
  EXPECT_EQ(settings_.budget, 0.02);
  ASSERT_EQ(Fill({{"CROSSCUT_PLAN", "full"}}), CROSSCUT_OK);
  EXPECT_EQ(Plan(), full);
  EXPECT_EQ(settings_.budget, 0) << "who names a plan has it as it is";
  options_.plan = "balanced";
  ASSERT_EQ(Fill({{"CROSSCUT_PLAN", "full"}}), CROSSCUT_OK);
  EXPECT_EQ(Plan(), balanced);
  EXPECT_EQ(settings_.budget, 0);
  options_.plan = "";
  ASSERT_EQ(Fill({{"CROSSCUT_PLAN", ""}}), CROSSCUT_OK);
  EXPECT_EQ(Plan(), balanced);
  options_.plan = "zebra";
  EXPECT_EQ(Fill(), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(LastError()).rfind("step plan zebra: ", 0), 0) << LastError();
}

TEST_F(SettingsTest, ControlStepsAreTheOptionsThenTheEnvironmentsThenThePlans) {
  const auto control = [&] { return settings_.shares.of[CROSSCUT_LEVEL_CONTROL]; };
  ASSERT_EQ(Fill({{"CROSSCUT_CONTROL_STEPS", "50"}}), CROSSCUT_OK);
  EXPECT_EQ(control(), format::kWholeShare / 2);
  ASSERT_EQ(Fill({{"CROSSCUT_CONTROL_STEPS", "0"}}), CROSSCUT_OK);
  EXPECT_EQ(control(), 0);
  EXPECT_EQ(settings_.budget, 0) << "who wants none has no budget that needs them";
  for (const char* bad : {"51", "-1", "few", "5 "}) {
    EXPECT_EQ(Fill({{"CROSSCUT_CONTROL_STEPS", bad}}), CROSSCUT_EINVAL) << bad;
  }
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  const uint32_t usual = control();
  EXPECT_GT(usual, 0);
  options_.control_percent = 20;
  ASSERT_EQ(Fill({{"CROSSCUT_CONTROL_STEPS", "few"}}), CROSSCUT_OK);
  EXPECT_EQ(control(), format::kWholeShare / 5);
  EXPECT_EQ(settings_.budget, 0.02);
  options_.control_percent = 100;
  ASSERT_EQ(Fill({}, "control=100"), CROSSCUT_OK);
  EXPECT_EQ(control(), format::kWholeShare);
  options_.control_percent = 101;  // no share: the plan's
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(control(), usual);
}

TEST_F(SettingsTest, TheBudgetIsTheOptionsThenTheEnvironments) {
  ASSERT_EQ(Fill({{"CROSSCUT_BUDGET", "5"}, {"CROSSCUT_PLAN", "full"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.budget, 0.05);
  ASSERT_EQ(Fill({{"CROSSCUT_BUDGET", "off"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.budget, 0);
  EXPECT_EQ(Fill({{"CROSSCUT_BUDGET", "lots"}}), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(LastError()), "budget lots: neither a share in per cent nor off");
  options_.budget_percent = 3;
  ASSERT_EQ(Fill({{"CROSSCUT_BUDGET", "lots"}}), CROSSCUT_OK);
  EXPECT_EQ(settings_.budget, 0.03);
  options_.budget_percent = -1;
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(settings_.budget, 0);
}

TEST_F(SettingsTest, OfAnOlderProgramsOptionsThoseCountThatItHas) {
  options_.memory_bytes = 9 << 20;
  options_.seed = 6;
  options_.plan = "full";
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(settings_.memory_bytes, 9u << 20);
  const std::string full = Plan();
  options_.struct_size = offsetof(crosscut_options, plan) + sizeof options_.plan;
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_EQ(Plan(), full);
  options_.struct_size -= 1;
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_NE(Plan(), full);
  EXPECT_EQ(settings_.seed, 6);
  options_.struct_size = offsetof(crosscut_options, policy);
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  EXPECT_NE(settings_.seed, 6);
  EXPECT_EQ(settings_.memory_bytes, 9u << 20);
}

TEST_F(SettingsTest, NamesInTheEnvironmentAreLookedAt) {
  EXPECT_EQ(Fill({{"CROSSCUT_SOURCES", "pytorch"}, {"CROSSCUT_PYTHON", "calls"}}), CROSSCUT_OK);
  EXPECT_EQ(Fill({{"CROSSCUT_SOURCES", "pytroch"}}), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(LastError()).rfind("CROSSCUT_SOURCES: ", 0), 0) << LastError();
  EXPECT_EQ(Fill({{"CROSSCUT_PYTHON", "boundry"}}), CROSSCUT_EINVAL);
  EXPECT_EQ(std::string(LastError()).rfind("CROSSCUT_PYTHON: ", 0), 0) << LastError();
}

TEST_F(SettingsTest, TheRunIsTheOptionsThenTheEnvironmentsThenAFolderOfThisProcess) {
  const std::string there = dir_ + "/there", asked = dir_ + "/asked";
  options_.run_dir = asked.c_str();
  ASSERT_EQ(Fill({{"CROSSCUT_RUN", there}}), CROSSCUT_OK);
  EXPECT_EQ(std::string(settings_.run_dir), asked);
  EXPECT_TRUE(std::filesystem::exists(asked + "/run.json"));
  EXPECT_EQ(std::filesystem::status(asked).permissions(), std::filesystem::perms::owner_all);
  EXPECT_FALSE(std::filesystem::exists(there));
  options_.run_dir = "";
  ASSERT_EQ(Fill({{"CROSSCUT_RUN", there}}), CROSSCUT_OK);
  EXPECT_EQ(std::string(settings_.run_dir), there);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_);
  EXPECT_EQ(Fill(), CROSSCUT_OK);
  std::filesystem::current_path(before);
  EXPECT_EQ(std::string(settings_.run_dir), dir_ + "/crosscut-" + std::to_string(getpid()));
  for (const size_t more : {0, 1}) {
    const std::string longest(kPathBytes - 513 + more, 'x');
    options_.run_dir = longest.c_str();
    EXPECT_NE(Fill(), CROSSCUT_OK);
    EXPECT_EQ(std::string(LastError()) == "the run directory's path is too long", more == 1);
  }
  options_.run_dir = "/proc/none/run";
  EXPECT_EQ(Fill(), CROSSCUT_EIO);
  EXPECT_EQ(std::string(LastError()),
            "cannot make the run directory /proc/none/run: No such file or directory");
}

TEST_F(SettingsTest, RingsLieWhereTheRunSaysOrInSharedMemory) {
  ASSERT_EQ(Fill(), CROSSCUT_OK);
  char dir[kPathBytes];
  RingDirectory(settings_, dir);
  EXPECT_STREQ(dir, "/dev/shm");
  const std::string json = std::string(settings_.run_dir) + "/run.json";
  std::ofstream(json) << "{\"seed\":1,\"ring_dir\":\"" << dir_ << "\"}";
  RingDirectory(settings_, dir);
  EXPECT_EQ(dir, dir_);
  for (const char* none : {"", "a\\\\b", "\"", "7"}) {
    std::ofstream(json) << "{\"seed\":1,\"ring_dir\":\"" << none << "\"}";
    RingDirectory(settings_, dir);
    EXPECT_EQ(std::string(dir), *none == '7' ? "" : "/dev/shm") << none;
  }
  std::ofstream(json) << R"({"seed":1,"ring_dir":")" << dir_ << "/none\"}";
  RingDirectory(settings_, dir);
  EXPECT_STREQ(dir, "") << "it is not there";
}

}  // namespace
}  // namespace crosscut::record
