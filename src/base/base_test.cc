#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "src/base/crc32c.h"
#include "src/base/fault_point.h"
#include "src/base/file.h"
#include "src/base/pod_vector.h"
#include "src/base/process.h"
#include "src/base/testing/files.h"
#include "src/base/varint.h"

namespace crosscut::base {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class TempDir {
 public:
  TempDir() {
    char pattern[] = "/tmp/crosscut_base_XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~TempDir() { [[maybe_unused]] int rc = system(("rm -rf '" + path_ + "'").c_str()); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Varint, RoundTripsAtEveryLengthAndRefusesCutOnes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    uint8_t buffer[kMaxVarintBytes];
    const uint8_t* end = PutVarint(buffer, value);
    uint64_t back = 0;
    ASSERT_EQ(GetVarint(buffer, end, &back), end);
    ASSERT_EQ(back, value);
    ASSERT_EQ(GetVarint(buffer, end - 1, &back), nullptr);
  }
}

TEST(Varint, RefusesMoreThan64Bits) {
  const uint8_t eleven[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  uint64_t value = 0;
  EXPECT_EQ(GetVarint(eleven, eleven + 10, &value), nullptr);
}

TEST(Varint, ZigZagKeepsEverySign) {
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN, int64_t{-12345}}) {
    EXPECT_EQ(UnZigZag(ZigZag(v)), v);
  }
  EXPECT_EQ(ZigZag(-1), 1u);
}

TEST(Crc32c, HasThePublishedCheckValue) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(Crc32cPortable("123456789", 9), 0xe3069283u);
}

TEST(Crc32c, InstructionAndTablesAgreeAtAllLengthsAndSplits) {
  std::mt19937 random(2);
  std::vector<uint8_t> data(20000);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  for (size_t length : {0, 1, 7, 8, 9, 1023, 3071, 3072, 3073, 6144, 9999, 20000}) {
    const uint32_t whole = Crc32cPortable(data.data(), length);
    ASSERT_EQ(Crc32c(data.data(), length), whole) << length;
    const size_t split = length / 3;
    ASSERT_EQ(Crc32c(data.data() + split, length - split, Crc32c(data.data(), split)), whole);
  }
}

TEST(PodVector, KeepsItsContentsAsItGrows) {
  PodVector<uint32_t> values;
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(values.Push(i));
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(values[i], i);
  EXPECT_FALSE(values.Reserve(SIZE_MAX / 2));
  EXPECT_EQ(values.size(), 1000u);
}

TEST(File, IsPrivateAndRefusesLinksAndExistingNames) {
  TempDir dir;
  auto file = OpenFile(dir / "log", OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok()) << file.status().message();
  struct stat info;
  ASSERT_EQ(stat((dir / "log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(OpenFile(dir / "log", OpenMode::kCreateNew).ok());
  ASSERT_EQ(symlink((dir / "log").c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(OpenFile(dir / "link", OpenMode::kAppend).ok());
  EXPECT_FALSE(OpenFile(dir / "link", OpenMode::kRead).ok());
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(OpenFile(dir / "fifo", OpenMode::kRead).ok());
  EXPECT_EQ(OpenFile(dir / "nowhere", OpenMode::kRead).status().code(), Status::Code::kNotFound);
  EXPECT_EQ(OpenFile(dir / "log/in", OpenMode::kRead).status().code(), Status::Code::kIo);
}

TEST(File, AppendsTruncatesAndReadsBack) {
  TempDir dir;
  auto file = OpenFile(dir / "log", OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(Bytes("hello world")).ok());
  ASSERT_TRUE((*file)->Truncate(5).ok());
  ASSERT_TRUE((*file)->Append(Bytes("!")).ok());
  EXPECT_FALSE((*file)->Truncate(7).ok());
  char text[6];
  ASSERT_TRUE((*file)->ReadAt(0, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(std::string_view(text, 6), "hello!");
  EXPECT_FALSE((*file)->ReadAt(1, std::as_writable_bytes(std::span(text))).ok());
}

TEST(File, InMemoryIsAsOneOnADisk) {
  std::vector<std::byte> contents;
  auto file = MemoryFile(&contents);
  ASSERT_TRUE(file->Append(Bytes("abcdef")).ok());
  ASSERT_TRUE(file->Truncate(4).ok());
  EXPECT_EQ(file->size(), 4u);
  EXPECT_EQ(contents.size(), 4u);
  ASSERT_TRUE(file->Append(Bytes("xy")).ok());
  std::byte bytes[3];
  ASSERT_TRUE(file->ReadAt(3, bytes).ok());
  EXPECT_EQ(memcmp(bytes, "dxy", 3), 0);
  EXPECT_FALSE(file->ReadAt(4, bytes).ok());
}

TEST(File, FullDeviceIsAnErrorThatSaysSo) {
  auto file = OpenFile("/dev/full", OpenMode::kAppendAnything);
  if (!file.ok()) GTEST_SKIP() << "no /dev/full";
  const Status status = (*file)->Append(Bytes("x"));
  EXPECT_EQ(status.code(), Status::Code::kIo);
  EXPECT_NE(status.message().find("No space left"), std::string_view::npos) << status.message();
}

TEST(File, FailingFileWritesUpToItsBudget) {
  std::vector<std::byte> contents;
  auto file = FailingFile(MemoryFile(&contents), 10);
  EXPECT_TRUE(file->Append(Bytes("12345678")).ok());
  EXPECT_FALSE(file->Append(Bytes("90AB")).ok());
  EXPECT_EQ(contents.size(), 10u);
}

TEST(FileLock, IsHeldByOneAndFreeAfterDeath) {
  TempDir dir;
  const std::string path = dir / "lock";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto lock = FileLock::Take(path, 0);
    [[maybe_unused]] ssize_t n = write(ready[1], lock.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(FileLock::Take(path, 10).status().code(), Status::Code::kLimit);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::Take(path, 1000).ok());
}

TEST(Process, KnowsItselfAndTheDead) {
  const ProcessIdentity self = ThisProcess();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_NE(self.start, 0u);
  EXPECT_EQ(LookUp(self), Liveness::kAlive);
  ProcessIdentity other = self;
  other.start += 1;
  EXPECT_EQ(LookUp(other), Liveness::kDead) << "the pid was used again";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ProcessIdentity gone = self;
  gone.pid = child;
  gone.start = 0;
  siginfo_t info;
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  EXPECT_EQ(LookUp(gone), Liveness::kDead) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_EQ(LookUp(gone), Liveness::kDead);
}

TEST(Process, IsTheOneThatProcTells) {
  // Fields count from behind the name, which may have blanks and parentheses itself.
  prctl(PR_SET_NAME, "a) b (c");
  const ProcessIdentity self = IdentityOf(getpid());
  const std::string stat = ReadSmallFile("/proc/self/stat", 4096).value();
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  EXPECT_EQ(std::to_string(self.start), field);
  std::string digits = ReadSmallFile("/proc/sys/kernel/random/boot_id", 256).value();
  std::erase(digits, '-');
  EXPECT_EQ(self.boot, strtoull(digits.substr(0, 16).c_str(), nullptr, 16));
  struct stat info;
  ASSERT_EQ(::stat("/proc/self/ns/pid", &info), 0);
  EXPECT_EQ(self.pid_namespace, info.st_ino);
}

TEST(Process, LivesOnAfterItsMainThreadLeft) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      usleep(50000);
      const ProcessIdentity self = ThisProcess();
      [[maybe_unused]] ssize_t n = write(ready[1], &self, sizeof self);
      pause();
    }).detach();
    syscall(SYS_exit, 0);  // the thread only, as pthread_exit does at its end
  }
  ProcessIdentity identity;
  ASSERT_EQ(read(ready[0], &identity, sizeof identity), static_cast<ssize_t>(sizeof identity));
  EXPECT_EQ(LookUp(identity), Liveness::kAlive);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(Process, TellsWhatIsMapped) {
  TempDir dir;
  auto file = OpenFile(dir / "some-unusual-name.ring", OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(Bytes(std::string(4096, 'x'))).ok());
  EXPECT_EQ(HasMapped(getpid(), "some-unusual-name.ring"), Liveness::kDead);
  const int fd = open((dir / "some-unusual-name.ring").c_str(), O_RDONLY);
  void* map = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  EXPECT_EQ(HasMapped(getpid(), "some-unusual-name.ring"), Liveness::kAlive);
  munmap(map, 4096);
  close(fd);
}

#ifdef CROSSCUT_FAULT_POINTS
TEST(FaultPoint, FailsAtTheNthPassOnly) {
  setenv("CROSSCUT_FAULT", "base.test:2:fail,other:1:fail", 1);
  FaultPointsReload();
  EXPECT_FALSE(CROSSCUT_FAULT("base.test"));
  EXPECT_TRUE(CROSSCUT_FAULT("base.test"));
  EXPECT_FALSE(CROSSCUT_FAULT("base.test"));
  unsetenv("CROSSCUT_FAULT");
  FaultPointsReload();
}

TEST(FaultPoint, KillsWhereItWasArmed) {
  EXPECT_EXIT(
      {
        setenv("CROSSCUT_FAULT", "base.test:1:kill", 1);
        FaultPointsReload();
        (void)CROSSCUT_FAULT("base.test");
        _exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
}
#endif

TEST(File, NamesInAFolderAreSortedAndNoMoreThanAsked) {
  TempDir dir;
  EXPECT_TRUE(NamesIn(dir / "").value().empty());
  for (const char* name : {"b", ".hidden", "a"}) {
    ASSERT_TRUE(OpenFile(dir / name, OpenMode::kCreateNew).ok());
  }
  EXPECT_EQ(NamesIn(dir / "").value(), (std::vector<std::string>{".hidden", "a", "b"}));
  EXPECT_EQ(NamesIn(dir / "", 2).value().size(), 2u);
  EXPECT_EQ(NamesIn(dir / "none").status().message(), dir / "none: No such file or directory");
}

}  // namespace
}  // namespace crosscut::base
