#include "src/export/sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace crosscut::exporting {
namespace {

namespace fs = std::filesystem;

class SinkTest : public ::testing::Test {
 protected:
  SinkTest() {
    std::string name = ::testing::TempDir() + "crosscut-sink-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~SinkTest() override { fs::remove_all(dir_); }

  std::string At(const char* name) const { return dir_ / name; }
  std::string Read(const char* name) const {
    std::ostringstream text;
    text << std::ifstream(dir_ / name).rdbuf();
    return text.str();
  }
  void Put(const char* name, const char* text) const { std::ofstream(dir_ / name) << text; }
  // Writes "new" there.
  static Status Write(const std::string& path) {
    auto sink = OpenSink(path);
    if (!sink.ok()) return sink.status();
    if (Status status = (*sink)->Write("new"); !status.ok()) return status;
    return (*sink)->Close();
  }
  size_t Entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir_), {}));
  }

  fs::path dir_;
};

TEST_F(SinkTest, LeavesNothingBehindWhereItIsNotClosed) {
  {
    auto sink = OpenSink(At("a"));
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->Write("half").ok());
  }
  EXPECT_EQ(Entries(), 0U);
  EXPECT_FALSE(OpenSink(At("none/a")).ok());
}

TEST_F(SinkTest, KeepsAnEarlierFileUntilTheEndAndItsMode) {
  Put("a", "old");
  fs::permissions(dir_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  {
    auto sink = OpenSink(At("a"));
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->Write("half").ok());
  }
  EXPECT_EQ(Read("a"), "old");
  ASSERT_TRUE(Write(At("a")).ok());
  EXPECT_EQ(Read("a"), "new");
  EXPECT_EQ(fs::status(dir_ / "a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(SinkTest, LeavesALinkALinkAndWritesWhereItLeads) {
  Put("target", "old");
  fs::create_symlink("target", dir_ / "link");
  fs::create_symlink("absent", dir_ / "dangling");
  ASSERT_TRUE(Write(At("link")).ok());
  ASSERT_TRUE(Write(At("dangling")).ok());
  EXPECT_TRUE(fs::is_symlink(dir_ / "link"));
  EXPECT_TRUE(fs::is_symlink(dir_ / "dangling"));
  EXPECT_EQ(Read("target"), "new");
  EXPECT_EQ(Read("absent"), "new");
  EXPECT_EQ(Entries(), 4U);
}

TEST_F(SinkTest, WritesAFileWithTwoNamesWhereItIsButNotBeforeTheEnd) {
  Put("a", "old and longer");
  fs::create_hard_link(dir_ / "a", dir_ / "b");
  {
    auto sink = OpenSink(At("a"));
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->Write("half").ok());
    EXPECT_EQ(Read("b"), "old and longer");
  }
  EXPECT_EQ(Read("b"), "old and longer");
  ASSERT_TRUE(Write(At("a")).ok());
  EXPECT_EQ(Read("b"), "new");
  EXPECT_EQ(fs::hard_link_count(dir_ / "a"), 2U);
  EXPECT_EQ(Entries(), 2U);
}

TEST_F(SinkTest, TakesTheLongestNameThereIs) {
  const std::string name = std::string(252, 'n') + ".gz";
  ASSERT_TRUE(Write(At(name.c_str())).ok());
  EXPECT_TRUE(fs::exists(dir_ / name));
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(SinkTest, OpensNoFileThatLaysReadyForTheNewOne) {
  const std::string guess = "a.part-" + std::to_string(getpid());
  Put(guess.c_str(), "theirs");
  ASSERT_TRUE(Write(At("a")).ok());
  EXPECT_EQ(Read("a"), "new");
  EXPECT_EQ(Read(guess.c_str()), "theirs");
}

TEST_F(SinkTest, WritesIntoAPipeAndLeavesItThere) {
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = Read("fifo"); });
  const Status status = Write(At("fifo"));
  reader.join();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(got, "new");
  EXPECT_TRUE(fs::is_fifo(dir_ / "fifo"));
}

TEST_F(SinkTest, ForgivesAReaderThatGoesAway) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  EXPECT_TRUE(Write("/dev/fd/" + std::to_string(ends[1])).ok());
  close(ends[1]);
}

TEST_F(SinkTest, SaysThatADeviceIsFull) {
  const Status status = Write("/dev/full");
  EXPECT_EQ(status.message(), "/dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_FALSE(OpenSink(dir_).ok());
}

TEST_F(SinkTest, AppendsToTheDescriptorThatAPathNames) {
  Put("log", "before ");
  const int fd = open(At("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(Write("/dev/fd/" + std::to_string(fd)).ok());
  EXPECT_EQ(write(fd, " after", 6), 6);
  close(fd);
  EXPECT_EQ(Read("log"), "before new after");
}

TEST_F(SinkTest, KnowsTheNamesOfStandardOutput) {
  EXPECT_TRUE(IsStandardOutput("-"));
  EXPECT_TRUE(IsStandardOutput("/dev/stdout"));
  EXPECT_TRUE(IsStandardOutput("/dev/fd/1"));
  EXPECT_FALSE(IsStandardOutput("/dev/fd/2"));
  EXPECT_FALSE(IsStandardOutput("./-"));
}

TEST_F(SinkTest, CountsWhatReachesTheFile) {
  auto sink = OpenSink(At("a.gz"));
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->Write(std::string(100'000, 'x')).ok());
  ASSERT_TRUE((*sink)->Close().ok());
  EXPECT_EQ((*sink)->bytes(), fs::file_size(dir_ / "a.gz"));
}

}  // namespace
}  // namespace crosscut::exporting
