#include "src/base/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace crosscut::base {
namespace {

namespace fs = std::filesystem;

class NewFileTest : public ::testing::Test {
 protected:
  NewFileTest() {
    std::string name = ::testing::TempDir() + "crosscut-new-file-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~NewFileTest() override { fs::remove_all(dir_); }

  std::string At(const std::string& name) const { return dir_ / name; }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(dir_ / name).rdbuf();
    return text.str();
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat facts = {};
    stat(At(name).c_str(), &facts);
    return facts.st_mode & 07777;
  }
  // The one file that is there.
  fs::path Only() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
    return fs::directory_iterator(dir_)->path();
  }

  fs::path dir_;
};

TEST_F(NewFileTest, TakesItsPlaceWholeAndUnderTheLongestName) {
  const std::string name(255, 'n');
  {
    auto file = NewFile::For(At(name));
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_TRUE(file->Write("whole").ok());
    EXPECT_FALSE(fs::exists(At(name)));
    ASSERT_TRUE(file->Place(/*durable=*/true).ok());
  }
  EXPECT_EQ(Read(name), "whole");
  EXPECT_EQ(Only().filename(), name);
}

TEST_F(NewFileTest, GoesAgainWhereItIsNotPlaced) {
  {
    auto file = NewFile::For(At("a"));
    ASSERT_TRUE(file.ok());
    NewFile moved = std::move(*file);
    ASSERT_TRUE(moved.Write("half").ok());
  }
  EXPECT_TRUE(fs::is_empty(dir_));
  EXPECT_FALSE(NewFile::For(At("none/a")).ok());
}

TEST_F(NewFileTest, HasANameThatNobodyForeseesAndNoRightThatThePlaceLacks) {
  std::ofstream(At("a")) << "old";
  ASSERT_EQ(chmod(At("a").c_str(), 0600), 0);
  auto one = NewFile::For(At("a")), other = NewFile::For(At("a"));
  ASSERT_TRUE(one.ok() && other.ok());
  int parts = 0;
  for (const auto& entry : fs::directory_iterator(dir_)) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(ModeOf(name), 0600U) << name;
    EXPECT_EQ(name.find(std::to_string(getpid())), std::string::npos);
    parts += name != "a" ? 1 : 0;
  }
  EXPECT_EQ(parts, 2);
  ASSERT_TRUE(one->Place().ok());
  EXPECT_EQ(ModeOf("a"), 0600U);
}

TEST_F(NewFileTest, HasTheModeThatTheUmaskLeaves) {
  const mode_t before = umask(077);
  auto file = NewFile::For(At("a"));
  umask(before);
  ASSERT_TRUE(file.ok() && file->Place().ok());
  EXPECT_EQ(ModeOf("a"), 0600U);
}

TEST_F(NewFileTest, TakesThePlaceOfALinkAndDoesNotFollowIt) {
  std::ofstream(At("target")) << "old";
  fs::create_symlink("target", At("a"));
  auto file = NewFile::For(At("a"));
  ASSERT_TRUE(file.ok() && file->Write("new").ok() && file->Place().ok());
  EXPECT_FALSE(fs::is_symlink(At("a")));
  EXPECT_EQ(Read("target"), "old");
}

}  // namespace
}  // namespace crosscut::base
