// Which rings are taken, and whether their process still lives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "src/base/file.h"
#include "src/base/process.h"
#include "src/format/reap.h"
#include "src/format/ring_mapping.h"
#include "src/format/ring_search.h"
#include "src/format/run_reader.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::RingBuilder;

// A run whose rings lie in another folder, as in /dev/shm.
class RingTrustTest : public ::testing::Test {
 protected:
  RingTrustTest() {
    char pattern[] = "/tmp/crosscut_trust_XXXXXX";
    home_ = mkdtemp(pattern);
    run_ = home_ + "/run";
    rings_ = home_ + "/rings";
    mkdir(run_.c_str(), 0700);
    mkdir(rings_.c_str(), 0777);
    std::ofstream(run_ + "/run.json") << R"({"format": 1, "ring_dir": ")" << rings_ << "\"}";
  }
  ~RingTrustTest() override {
    [[maybe_unused]] int rc = system(("rm -rf '" + home_ + "'").c_str());
  }

  std::string Write(RingBuilder* ring, const std::string& dir, mode_t mode = 0600) const {
    const RunFolder run = *RunFolder::Of(run_);
    ring->header().run_device = run.device;
    ring->header().run_inode = run.inode;
    const std::string path = RingPath(dir, ring->header().pid, ring->header().nonce);
    std::ofstream(path, std::ios::binary)
        .write(ring->bytes().data(), static_cast<std::streamsize>(ring->bytes().size()));
    chmod(path.c_str(), mode);
    return path;
  }
  RunRings Find() const { return FindRings(*RunFolder::Of(run_)); }
  // Of the ring at `path`, as its header tells.
  static base::Liveness Owner(const std::string& path) {
    auto file = RingFile::Open(path, {}, false);
    RingHeader header;
    uint64_t chunks = 0;
    EXPECT_TRUE(file.ok() && file->ReadHeader(&header, &chunks).ok());
    return file->Owner(header);
  }

  std::string home_, run_, rings_;
};

TEST_F(RingTrustTest, ARingThatOthersMayWriteIsRefusedAndTold) {
  RingBuilder ring(1, 7);
  const std::string path = Write(&ring, rings_, 0620);
  EXPECT_TRUE(Find().rings.empty());
  ASSERT_EQ(Find().refused.size(), 1u);
  EXPECT_EQ(Find().refused[0], path + ": other users may write it");
  EXPECT_EQ((*RunReader::Open(run_))->refused_rings().size(), 1u);
  EXPECT_EQ(ReapRun(run_)->rings_deleted, 0u);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  chmod(path.c_str(), 0600);
  EXPECT_EQ(Find().rings.size(), 1u);
}

TEST_F(RingTrustTest, InTheRunDirectoryItsModeIsEnough) {
  RingBuilder ring(1, 7);
  Write(&ring, run_, 0777);  // as file systems show it that know no modes
  EXPECT_EQ(Find().rings.size(), 1u);
}

TEST_F(RingTrustTest, ARingUnderAnothersNameIsRefusedAndTold) {
  RingBuilder ring(1, 7);
  const std::string path = Write(&ring, rings_);
  rename(path.c_str(), RingPath(rings_, ring.header().pid, 8).c_str());
  EXPECT_TRUE(Find().rings.empty());
  EXPECT_EQ(Find().refused.size(), 1u);
}

// File systems give a removed directory's number to the next one that is made.
TEST_F(RingTrustTest, ARingOfARemovedRunIsNoRingOfTheRunThatHasItsNumberNow) {
  RingBuilder ring(1, 7);
  const RunFolder run = *RunFolder::Of(run_);
  ring.header().run_made_ns = run.made_ns;
  Write(&ring, rings_);
  EXPECT_EQ(Find().rings.size(), 1u);
  if (run.made_ns == 0) GTEST_SKIP() << "this file system does not tell when a file was made";
  ring.header().run_made_ns = run.made_ns - 1;
  Write(&ring, rings_);
  EXPECT_TRUE(Find().rings.empty());
  EXPECT_TRUE(Find().refused.empty());
}

TEST_F(RingTrustTest, LinksAreNotFollowed) {
  RingBuilder ring(1, 7);
  const std::string path = Write(&ring, home_);
  ASSERT_EQ(symlink(path.c_str(), RingPath(rings_, ring.header().pid, 7).c_str()), 0);
  EXPECT_TRUE(Find().rings.empty());
  EXPECT_TRUE(Find().refused.empty());
}

// A pid says nothing in another namespace; the mark does.
TEST_F(RingTrustTest, TheMarkTellsInEveryPidNamespaceWhetherTheProcessLives) {
  RingBuilder ring(1, 7);
  ring.header().pid_namespace = 1;  // none that this process is in
  const std::string unmarked = Write(&ring, rings_);
  EXPECT_EQ(Owner(unmarked), base::Liveness::kUnknown);
  ring.header().marks_use = 1;
  ring.header().nonce = 8;
  const std::string marked = Write(&ring, rings_);
  const int fd = open(marked.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(base::MarkInUse(fd));
  EXPECT_EQ(Owner(marked), base::Liveness::kAlive);
  const int again = open(marked.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(base::MarkInUse(again));
  close(again);
  EXPECT_EQ(Owner(marked), base::Liveness::kAlive) << "another descriptor was closed";
  close(fd);
  EXPECT_EQ(Owner(marked), base::Liveness::kDead);
}

// A child that was forked while the ring was made may keep its mark.
TEST_F(RingTrustTest, InTheSameNamespaceAProcessThatIsGoneIsDeadWhateverTheMark) {
  RingBuilder ring(1, 7);
  ring.header().pid_namespace = base::ThisProcess().pid_namespace;
  ring.header().marks_use = 1;
  const std::string path = Write(&ring, rings_);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(base::MarkInUse(fd));
  EXPECT_EQ(Owner(path), base::Liveness::kDead);
  close(fd);
}

TEST_F(RingTrustTest, AMappedRingThatIsCutReadsZeros) {
  struct sigaction before;  // a sanitizer has its own
  sigaction(SIGBUS, nullptr, &before);
  RingBuilder ring(1, 7);
  const std::string path = Write(&ring, rings_);
  {
    auto mapping = RingMapping::Open(path);
    ASSERT_TRUE(mapping.ok()) << mapping.status().message();
    EXPECT_EQ(mapping->header()->nonce, 7u);
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    EXPECT_EQ(RingLoad(mapping->header()->nonce), 0u);
    RingStore<uint32_t>(mapping->header()->request, 5);
    EXPECT_EQ(RingLoad(mapping->header()->request), 5u);
  }
  struct sigaction left;
  sigaction(SIGBUS, nullptr, &left);
  EXPECT_EQ(left.sa_handler, before.sa_handler) << "the handler stays no longer than the mapping";
}

TEST_F(RingTrustTest, OtherBusErrorsEndTheProcessAsEver) {
  RingBuilder ring(1, 7);
  const std::string path = Write(&ring, rings_);
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);
        auto mapping = RingMapping::Open(path);
        raise(SIGBUS);
        _exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace crosscut::format
