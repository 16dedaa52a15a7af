#include "crosscut/fork_safe_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace crosscut {
namespace {

ForkSafeMutex first, second;

// How a child ends that takes both; it is killed where it hangs.
int StatusOfChild() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::lock_guard<ForkSafeMutex> of_first(first), of_second(second);
    _exit(first.try_lock() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(ForkSafeMutex, KeepsOthersOut) {
  std::lock_guard<ForkSafeMutex> lock(first);
  bool taken = true;
  std::thread([&] { taken = first.try_lock(); }).join();
  EXPECT_FALSE(taken);
}

TEST(ForkSafeMutex, AChildFindsWhatAnotherThreadHoldsFree) {
  std::atomic<bool> holds{false}, forked{false};
  std::thread holder([&] {
    std::lock_guard<ForkSafeMutex> of_first(first), of_second(second);
    holds = true;
    while (!forked) std::this_thread::yield();
  });
  while (!holds) std::this_thread::yield();
  EXPECT_EQ(StatusOfChild(), 0);
  EXPECT_FALSE(first.try_lock()) << "the parent's holder lost it";
  forked = true;
  holder.join();
  EXPECT_TRUE(first.try_lock());
  first.unlock();
}

}  // namespace
}  // namespace crosscut
