#include "src/export/sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "src/export/exporter.h"
#include "src/trace/builder.h"

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

// As many as the kernel follows.
TEST_F(SinkTest, FollowsFortyLinksToWhereNothingIsYet) {
  const auto link = [&](int i) { return dir_ / ("l" + std::to_string(i)); };
  fs::create_symlink("absent", link(1));
  for (int i = 2; i <= 41; ++i) fs::create_symlink(link(i - 1), link(i));
  ASSERT_TRUE(Write(link(40)).ok());
  EXPECT_EQ(Read("absent"), "new");
  fs::remove(dir_ / "absent");
  EXPECT_FALSE(Write(link(41)).ok());
  EXPECT_EQ(Entries(), 41U);
}

TEST_F(SinkTest, LeavesAFileWithTwoNamesEmptyWhereNothingIsWritten) {
  Put("a", "old");
  fs::create_hard_link(dir_ / "a", dir_ / "b");
  auto sink = OpenSink(At("a"));
  ASSERT_TRUE(sink.ok());
  EXPECT_TRUE((*sink)->Close().ok());
  EXPECT_TRUE(fs::exists(dir_ / "b"));
  EXPECT_EQ(Read("b"), "");
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

TEST_F(SinkTest, SaysThatAFileMayNotBeSoLongAndLeavesWhatWasThere) {
  Put("a", "1");
  Put("b", "1");
  fs::create_hard_link(dir_ / "b", dir_ / "c");
  for (const char* name : {"a", "b"}) {
    const auto write = [&] {
      const rlimit two = {2, 2};
      setrlimit(RLIMIT_FSIZE, &two);
      std::exit(Write(At(name)).message() == At(name) + ": File too large" ? 0 : 1);
    };
    EXPECT_EXIT(write(), ::testing::ExitedWithCode(0), "");
    EXPECT_EQ(Read(name), "1");
  }
  EXPECT_EQ(Entries(), 3U);
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

// Each write is a system call.
class CountingSink : public Sink {
 public:
  Status Write(std::string_view bytes) override {
    ++writes;
    bytes_ += bytes.size();
    most = std::max(most, bytes.size());
    return {};
  }
  Status Close() override { return {}; }
  uint64_t bytes() const override { return bytes_; }
  uint64_t writes = 0;
  size_t most = 0;  // at once

 private:
  uint64_t bytes_ = 0;
};

TEST(Exporters, WriteMuchAtATime) {
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p");
  builder.process(process).end_ns = 100'000;
  trace::TrackBuilder& track = builder.AddTrack(process, trace::TrackKind::kThread);
  trace::Name name;
  name.text = builder.Text("work");
  const trace::NameId work = builder.AddName(name);
  for (int64_t at = 0; at < 100'000; at += 10) {
    track.Begin(at, work);
    track.End(at + 5);
  }
  const trace::Trace trace = builder.Finish();
  for (const Exporter& exporter : Exporters()) {
    CountingSink sink;
    (void)exporter.write(trace, &sink);
    EXPECT_LE(sink.writes, 10 + sink.bytes() / 10'000) << exporter.name;
  }
}

// A path of four names for each of 83,521 spans. XSpaces name their planes' sizes first.
TEST(Exporters, HoldNoMoreThanTheyWriteAtOnce) {
  constexpr int kNames = 17;
  trace::Builder builder;
  const trace::ProcessId process = builder.AddProcess("p");
  trace::TrackBuilder& track = builder.AddTrack(process, trace::TrackKind::kThread);
  std::vector<trace::NameId> names;
  for (int i = 0; i < kNames; ++i) {
    trace::Name name;
    name.text = builder.Text("a function of the program, number " + std::to_string(i));
    names.push_back(builder.AddName(name));
  }
  int64_t at = 0;
  const std::function<void(int)> run = [&](int depth) {
    for (const trace::NameId name : names) {
      track.Begin(at++, name);
      if (depth < 4) run(depth + 1);
      track.End(at++);
    }
  };
  run(1);
  builder.process(process).end_ns = at;
  const trace::Trace trace = builder.Finish();
  for (const char* format : {"chrome", "perfetto", "speedscope", "collapsed", "pprof"}) {
    CountingSink sink;
    EXPECT_TRUE(FindExporter(format)->write(trace, &sink).ok()) << format;
    EXPECT_GT(sink.bytes(), uint64_t{3} << 19) << format;
    EXPECT_LT(sink.most, size_t{9} << 17) << format;
  }
}

}  // namespace
}  // namespace crosscut::exporting
