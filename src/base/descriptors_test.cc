#include "src/base/descriptors.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <vector>

namespace crosscut::base {
namespace {

std::vector<int> Blocked() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::vector<int> out;
  for (int signal = 1; signal < 32; ++signal) {
    if (sigismember(&mask, signal) == 1) out.push_back(signal);
  }
  return out;
}

// Fills the stack with other bytes, so that what is not set there shows.
void __attribute__((noinline)) Dirty() {
  volatile char bytes[4096];
  for (volatile char& byte : bytes) byte = static_cast<char>(0xff);
}

TEST(NoSignal, HoldsBackItsSignalAloneAndLeavesNothingBehind) {
  const std::vector<int> before = Blocked();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  for (int i = 0; i < 3; ++i) {  // the signal of one write does not come at the next
    Dirty();
    const NoSignal none(SIGPIPE);
    EXPECT_EQ(Blocked(), std::vector<int>{SIGPIPE});
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  EXPECT_EQ(Blocked(), before);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  EXPECT_FALSE(WriteAll(ends[1], "more"));
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

TEST(NoSignal, LeavesASignalThatWasPendingBefore) {
  sigset_t pipe_signal, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  pthread_kill(pthread_self(), SIGPIPE);
  { const NoSignal none(SIGPIPE); }
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  const timespec now = {};
  EXPECT_EQ(sigtimedwait(&pipe_signal, nullptr, &now), SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

TEST(Descriptors, OfOursAreAboveTheStandardOnes) {
  const pid_t child = fork();
  if (child == 0) {
    close(2);
    const int above = OpenHigh("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd) close(fd);
    const int high = OpenHigh("/dev/null", O_RDWR | O_CLOEXEC);
    const bool left_alone = fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
    HoldStandardDescriptors();
    char byte = 0;
    const bool held = read(0, &byte, 1) < 0 && write(1, "x", 1) < 0 && write(2, "x", 1) < 0;
    _exit(above >= 3 && high >= 3 && left_alone && held ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(OpenHigh("/no/such/file", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(Descriptors, AllButTwoAreClosed) {
  const pid_t child = fork();
  if (child == 0) {
    int fds[5];
    for (int& fd : fds) fd = open("/dev/null", O_RDONLY);
    CloseAllBut(fds[1], fds[3]);
    bool good = true;
    for (int i = 0; i < 5; ++i) good = good && (fcntl(fds[i], F_GETFD) >= 0) == (i == 1 || i == 3);
    for (int fd = 0; fd < 3; ++fd) good = good && fcntl(fd, F_GETFD) < 0;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Descriptors, AFileWasMadeWhenItWas) {
  char path[] = "/tmp/crosscut_made_XXXXXX";
  timespec begin, end;
  clock_gettime(CLOCK_REALTIME, &begin);
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  clock_gettime(CLOCK_REALTIME, &end);
  const uint64_t made = MadeNs(fd);
  unlink(path);
  close(fd);
  if (made == 0) GTEST_SKIP() << "the file system does not tell";
  const auto ns = [](const timespec& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  };
  EXPECT_GE(made + 20'000'000, ns(begin)) << "the kernel's clock of files goes by ticks";
  EXPECT_LE(made, ns(end));
}

}  // namespace
}  // namespace crosscut::base
