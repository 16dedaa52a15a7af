#include "crosscut/fork_safe_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

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

TEST(ForkSafeCondition, EveryChangeIsSeenByWhoWaitsForItWithoutLimit) {
  static ForkSafeMutex mutex;
  static ForkSafeCondition changed;
  static int turn = 0;
  constexpr int kTurns = 20'000;
  const auto play = [](int mine) {
    for (int i = mine; i < kTurns; i += 2) {
      std::lock_guard<ForkSafeMutex> lock(mutex);
      while (turn != i) changed.Wait(&mutex, -1);
      ++turn;
      changed.NotifyAll();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, kTurns);
}

TEST(ForkSafeCondition, AWaitEndsAtItsLimit) {
  ForkSafeMutex mutex;
  ForkSafeCondition changed;
  std::lock_guard<ForkSafeMutex> lock(mutex);
  changed.Wait(&mutex, 1'000'000);
  EXPECT_FALSE(mutex.try_lock());
}

TEST(ForkSafeMutex, CountsWhatManyThreadsCount) {
  static ForkSafeMutex mutex;
  static int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 50'000; ++i) {
        std::lock_guard<ForkSafeMutex> lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 200'000);
}

}  // namespace
}  // namespace crosscut
