#include "settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace dqn {
namespace {

std::string FileOf(const std::string& text) {
  const std::string path = testing::TempDir() + "dqn_settings_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
  std::ofstream(path) << text;
  return path;
}

// What ReadSettings() says of them, "" where they are good.
std::string Complaint(const std::vector<std::string>& arguments) {
  try {
    ReadSettings(arguments);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Settings, AreReadFromAFileAndChangedByArguments) {
  const std::string path = FileOf(
      "# a comment\n"
      "environment = cartpole\n\n"
      "  steps=400   # and one here\n"
      "learning_rate = 2.5e-4\n"
      "epsilon_steps = 30\n");
  const Settings settings = ReadSettings({path, "seed=9", "steps = 500"});
  EXPECT_EQ(settings.environment, "cartpole");
  EXPECT_EQ(settings.steps, 500);
  EXPECT_EQ(settings.learning_rate, 2.5e-4);
  EXPECT_EQ(settings.epsilon.steps, 30);
  EXPECT_EQ(settings.seed, 9);
  EXPECT_EQ(settings.discount, 0.99) << "not named: as it was";
}

TEST(Settings, ThatAreWrongAreToldByTheirPlace) {
  const std::string path = FileOf("steps = 400\nlearning_rat = 1\n");
  EXPECT_EQ(Complaint({path}), path + ":2: no setting is called \"learning_rat\"");
  const std::string good = FileOf("steps = 400\n");
  EXPECT_EQ(Complaint({good}), "");
  EXPECT_EQ(Complaint({good, "batch=many"}), "batch=many: batch is not a number: \"many\"");
  EXPECT_EQ(Complaint({good, "batch=6.5"}), "batch=6.5: batch is not a number: \"6.5\"");
  EXPECT_EQ(Complaint({good, "batch=-1"}), "batch=-1: batch is negative");
  EXPECT_EQ(Complaint({good, "stop_at=-18.5"}), "");
  EXPECT_EQ(Complaint({good, "batch"}), "batch: no \"name = value\": batch");
  EXPECT_EQ(Complaint({good, "learn_period=0"}), "learn_period must be at least 1");
  EXPECT_EQ(Complaint({FileOf("")}), "steps must be at least 1");
  EXPECT_EQ(Complaint({"/no/such/file"}), "cannot read /no/such/file");
  EXPECT_EQ(Complaint({}), "no file of settings is named");
}

// Both agents read the files that the tree has.
TEST(Settings, OfTheTreeAreGood) {
  int files = 0;
  const std::string folder = CROSSCUT_SOURCE_DIR "/examples/dqn";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt" || entry.path().stem() == "CMakeLists") continue;
    EXPECT_EQ(Complaint({entry.path()}), "");
    ++files;
  }
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace dqn
