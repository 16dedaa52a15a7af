extern "C" {
#include "obstacle.h"
}

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace {

// Calls getenv() and puts(), and is linked to the C library alone.
constexpr char kPlain[] = CROSSCUT_PLAIN_PROGRAM;

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class ObstacleTest : public ::testing::Test {
 protected:
  ObstacleTest() { dir_ = mkdtemp(name_); }
  ~ObstacleTest() override { std::system(("rm -r " + dir_).c_str()); }

  std::string Write(const std::string& name, const std::string& contents) {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << contents;
    return dir_ + "/" + name;
  }
  Obstacle Of(const std::string& path) {
    return ObstacleOfFile(AT_FDCWD, path.c_str(), "/proc/self/exe", &room_);
  }

  char name_[32] = "/tmp/obstacle-XXXXXX";
  std::string dir_;
  Room room_;
};

// A program that calls a function whose name ends in `name`, of up to six letters.
std::string Calling(const std::string& name) {
  std::string program = Contents(kPlain);
  const size_t at = program.find(std::string("\0getenv\0", 8));
  EXPECT_NE(at, std::string::npos);
  return program.replace(at + 7 - name.size(), name.size(), name);
}

TEST_F(ObstacleTest, AProgramThatStartsNothingHasNothingForUsToDo) {
  EXPECT_EQ(Of(kPlain), kNothingToDo);
  EXPECT_EQ(Of(kPlain), kNothingToDo);  // as remembered
}

TEST_F(ObstacleTest, AnyNameThatMayStartAnotherProgramCounts) {
  const std::string plain = Contents(kPlain);
  ASSERT_EQ(Of(Write("as it is", plain)), kNothingToDo);
  for (const char* name : {"execv", "fork", "popen", "spawn", "system", "dlopen"}) {
    EXPECT_EQ(Of(Write(name, Calling(name))), kNone) << name;
  }
}

TEST_F(ObstacleTest, AProgramOfOtherLibrariesMayStartWhatTheyStart) {
  std::string program = Contents(kPlain);
  const size_t at = program.find("libc.so.6");
  ASSERT_NE(at, std::string::npos);
  program[at + 3] = 'x';
  EXPECT_EQ(Of(Write("other", program)), kNone);
}

TEST_F(ObstacleTest, AScriptIsItsInterpreter) {
  EXPECT_EQ(Of(Write("plain", "#! " + std::string(kPlain) + " -n\n")), kNothingToDo);
  EXPECT_EQ(Of(Write("shell", "#!" + Write("starts", Calling("fork")))), kNone);
  EXPECT_EQ(Of(Write("twice", "#!" + dir_ + "/plain\n")), kNothingToDo);
  EXPECT_EQ(Of(Write("nowhere", "#!" + dir_ + "/none\n")), kNone);
  EXPECT_EQ(Of(Write("text", "no program\n")), kNoLoader);
  EXPECT_EQ(Of(Write("empty", "")), kNoLoader);
}

TEST_F(ObstacleTest, AProgramOfAnotherProcessorIsNotForUs) {
  std::string program = Contents(kPlain);
  program[18] ^= '\x7f';
  EXPECT_EQ(Of(Write("other", program)), kOtherProcessor);
}

TEST_F(ObstacleTest, WhereNothingIsNobodyAsksForTheLibrary) {
  errno = EINTR;
  EXPECT_EQ(ObstacleOfFile(AT_FDCWD, (dir_ + "/none").c_str(), "/no/library", &room_), kNoLoader);
  EXPECT_EQ(ObstacleOfFile(AT_FDCWD, "/bin/cat/none", "/no/library", &room_), kNoLoader);
  EXPECT_EQ(ObstacleOfFile(AT_FDCWD, kPlain, "/no/library", &room_), kLibraryOutOfReach);
  EXPECT_EQ(errno, EINTR);
}

TEST_F(ObstacleTest, AFileThatIsCutShortIsReadAsFarAsItGoes) {
  const std::string plain = Contents(kPlain);
  for (const size_t bytes : {1u, 4u, 63u, 64u, 500u, 1000u, 3000u, 5000u}) {
    const Obstacle found = Of(Write("cut" + std::to_string(bytes), plain.substr(0, bytes)));
    EXPECT_FALSE(DoesHarm(found)) << bytes;
    EXPECT_NE(found, kNothingToDo) << bytes;
  }
}

// The times of a file come from a clock that ticks rarely: what just changed may look the same.
TEST_F(ObstacleTest, WhatChangesInPlaceIsReadAnewThoughItsTimesAreAsBefore) {
  const std::string plain = Contents(kPlain), starts = Calling("execv");
  const std::string path = Write("program", plain);
  const struct timespec times[] = {{1, 0}, {1, 0}};
  for (int i = 0; i < 200; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string& now = i % 2 == 0 ? plain : starts;
    ASSERT_EQ(pwrite(fd, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()));
    futimens(fd, times);
    close(fd);
    ASSERT_EQ(Of(path), i % 2 == 0 ? kNothingToDo : kNone) << i;
  }
}

TEST_F(ObstacleTest, NoFileStaysOpen) {
  const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(before);
  (void)Of(kPlain);
  (void)Of(Write("script", "#!" + std::string(kPlain)));
  const int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
