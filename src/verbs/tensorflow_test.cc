// A Python that says what a test wants stands in for the real one:
// tests/endtoend/test_tensorflow.py does the same with TensorFlow.
#include "src/verbs/tensorflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TensorFlowVerb : public testing::Test {
 protected:
  TensorFlowVerb() {
    char name[] = "/tmp/crosscut-tensorflow-test-XXXXXX";
    root_ = mkdtemp(name);
    site_ = root_ + "/lib/site-packages";
    fs::create_directories(site_ + "/tensorflow");
    fs::create_directories(root_ + "/crosscut/lib");
    library_ = root_ + "/crosscut/lib/libcrosscut_tensorflow.so";
    std::ofstream(library_) << "the library";
    Python("home " + site_ + "/tensorflow\nversion 2.21.0\nsite " + site_, /*loads=*/true);
  }
  ~TensorFlowVerb() override { fs::remove_all(root_); }

  // A program that answers the question of where things are by `says`, and any other by `loads`.
  void Python(const std::string& says, bool loads) {
    python_ = root_ + "/python";
    std::ofstream(python_) << "#!/bin/sh\ncase \"$2\" in *find_spec*) echo '" << says
                           << "';; *) echo broken >&2; exit " << (loads ? 0 : 1) << ";; esac\n";
    chmod(python_.c_str(), 0755);
  }

  std::string root_, site_, library_, python_;
};

TEST_F(TensorFlowVerb, InstallsACopyThatNamesItsPackageAndRemovesItWithoutATrace) {
  auto plugin = FindTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_FALSE(plugin->installed);
  EXPECT_EQ(plugin->tensorflow, "2.21.0");
  plugin = InstallTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_TRUE(plugin->current);
  EXPECT_THAT(plugin->notes, IsEmpty());
  const std::string copy = site_ + "/tensorflow-plugins/libcrosscut_tensorflow.so";
  EXPECT_THAT(plugin->copies, ElementsAre(copy));
  EXPECT_FALSE(fs::is_symlink(copy));
  std::string package;
  std::getline(std::ifstream(site_ + "/tensorflow-plugins/libcrosscut_tensorflow.package"),
               package);
  EXPECT_EQ(package, root_ + "/crosscut");
  plugin = RemoveTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_FALSE(plugin->installed);
  EXPECT_FALSE(fs::exists(site_ + "/tensorflow-plugins"));
}

TEST_F(TensorFlowVerb, WhatCannotBeLoadedIsTakenOutAgain) {
  Python("home " + site_ + "/tensorflow\nversion 2.21.0\nsite " + site_, /*loads=*/false);
  const auto plugin = InstallTensorFlowPlugin(python_, library_);
  ASSERT_FALSE(plugin.ok());
  EXPECT_THAT(plugin.status().message(), HasSubstr("cannot be loaded: broken"));
  EXPECT_FALSE(fs::exists(site_ + "/tensorflow-plugins"));
}

TEST_F(TensorFlowVerb, OtherPluginsInTheFolderStay) {
  fs::create_directories(site_ + "/tensorflow-plugins");
  std::ofstream(site_ + "/tensorflow-plugins/theirs.so") << "theirs";
  ASSERT_TRUE(InstallTensorFlowPlugin(python_, library_).ok());
  ASSERT_TRUE(RemoveTensorFlowPlugin(python_, library_).ok());
  EXPECT_TRUE(fs::exists(site_ + "/tensorflow-plugins/theirs.so"));
}

TEST_F(TensorFlowVerb, ACopyThatTwoPathsLeadToIsTold) {
  fs::create_directory_symlink(root_ + "/lib", root_ + "/lib64");
  Python("home " + site_ + "/tensorflow\nversion 2.21.0\nsite " + site_ + "\nsite " + root_ +
             "/lib64/site-packages",
         /*loads=*/true);
  const auto plugin = InstallTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_TRUE(plugin->current);
  EXPECT_THAT(plugin->notes, ElementsAre(HasSubstr("loads it twice")));
}

TEST_F(TensorFlowVerb, AnOlderCopyAndALinkThatLeadsNowhereAreTold) {
  ASSERT_TRUE(InstallTensorFlowPlugin(python_, library_).ok());
  std::ofstream(library_) << "another version";
  auto plugin = FindTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_TRUE(plugin->installed);
  EXPECT_FALSE(plugin->current);
  EXPECT_THAT(plugin->notes, ElementsAre(HasSubstr("install again")));
  const std::string copy = site_ + "/tensorflow-plugins/libcrosscut_tensorflow.so";
  fs::remove(copy);
  fs::create_symlink("/nowhere", copy);
  plugin = FindTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_THAT(plugin->notes, ElementsAre(HasSubstr("leads nowhere")));
  EXPECT_TRUE(InstallTensorFlowPlugin(python_, library_)->current);
}

TEST_F(TensorFlowVerb, CopiesInSeveralFoldersAreToldAndAllRemoved) {
  const std::string other = root_ + "/other/site-packages";
  Python("home " + site_ + "/tensorflow\nversion 2.21.0\nsite " + other + "\nsite " + site_,
         /*loads=*/true);
  ASSERT_TRUE(InstallTensorFlowPlugin(python_, library_).ok());
  const std::string name = "/tensorflow-plugins/libcrosscut_tensorflow.so";
  fs::create_directories(other + "/tensorflow-plugins");
  fs::copy(site_ + name, other + name);
  const auto plugin = FindTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_THAT(plugin->copies, ElementsAre(other + name, site_ + name));
  EXPECT_THAT(plugin->notes, ElementsAre("there is more than one copy: remove, then install"));
  EXPECT_THAT(RemoveTensorFlowPlugin(python_, library_)->copies, IsEmpty());
  EXPECT_FALSE(fs::exists(other + "/tensorflow-plugins"));
}

TEST_F(TensorFlowVerb, WhereTensorFlowLiesIsLookedThroughEvenIfPythonDoesNotNameIt) {
  fs::create_directories(root_ + "/opt/tensorflow");
  Python("home " + root_ + "/opt/tensorflow\nversion 2.21.0", /*loads=*/true);
  const auto plugin = InstallTensorFlowPlugin(python_, library_);
  ASSERT_TRUE(plugin.ok());
  EXPECT_THAT(plugin->copies,
              ElementsAre(root_ + "/opt/tensorflow-plugins/libcrosscut_tensorflow.so"));
  EXPECT_THAT(plugin->notes,
              ElementsAre("TensorFlow lies outside site-packages and looks for no plugins there: "
                          "set TF_PLUGGABLE_DEVICE_LIBRARY_PATH=" +
                          library_));
}

TEST(TensorFlowPlugin, IsDescribedInLines) {
  TensorFlowPlugin plugin;
  plugin.python = "python3";
  plugin.tensorflow = "2.21.0";
  plugin.folder = "/s";
  EXPECT_EQ(Describe(plugin),
            "TensorFlow 2.21.0 of python3: the plugin is not installed\n  in /s\n");
  plugin.installed = true;
  plugin.notes = {"one", "two"};
  EXPECT_EQ(Describe(plugin),
            "TensorFlow 2.21.0 of python3: another version's plugin is installed\n  in /s\n  one\n"
            "  two\n");
  plugin.current = true;
  plugin.notes.clear();
  EXPECT_EQ(Describe(plugin), "TensorFlow 2.21.0 of python3: the plugin is installed\n  in /s\n");
}

TEST_F(TensorFlowVerb, APythonWithoutTensorFlowIsRefusedByName) {
  std::ofstream(root_ + "/fails") << "#!/bin/sh\necho no such module >&2\nexit 1\n";
  chmod((root_ + "/fails").c_str(), 0755);
  EXPECT_EQ(FindTensorFlowPlugin(root_ + "/fails", library_).status().message(),
            root_ + "/fails: no such module");
  Python("site " + site_, /*loads=*/true);
  EXPECT_THAT(FindTensorFlowPlugin(python_, library_).status().message(),
              HasSubstr("has no TensorFlow"));
  EXPECT_FALSE(FindTensorFlowPlugin(root_ + "/no-python", library_).ok());
}

}  // namespace
}  // namespace crosscut::verbs
