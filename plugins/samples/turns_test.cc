#include "turns.h"

#include <gtest/gtest.h>

#include <map>

namespace crosscut::samples {
namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

// A process of threads 1 to `count`; a look at each of them takes 1 ms.
class Process {
 public:
  explicit Process(int count) {
    for (int tid = 1; tid <= count; ++tid) threads_[tid] = 0;
  }
  void Look(int64_t now_ns, int64_t most_ns, std::initializer_list<int> leads) {
    int64_t left_ns = most_ns;
    const auto sample = [&](int tid) {
      const auto found = threads_.find(tid);
      if (found == threads_.end() || seen_ns_[tid] == now_ns) return false;
      seen_ns_[tid] = now_ns;
      left_ns -= kMs;
      ++found->second;
      return true;
    };
    turns_.Look(threads_, leads, now_ns, sample, [&] { return left_ns; });
  }
  int Samples(int tid) const { return threads_.at(tid); }
  void End(int tid) { threads_.erase(tid); }
  Turns& turns() { return turns_; }

 private:
  std::map<int, int> threads_;      // samples
  std::map<int, int64_t> seen_ns_;  // last
  Turns turns_;
};

TEST(Turns, TheLeadIsSampledInEachLookHoweverManyWait) {
  for (const int count : {1, 64, 300, 1500}) {
    Process process(count);
    for (int i = 1; i <= 600; ++i) process.Look(i * 3 * kMs, 2 * kMs, {1, 0});
    EXPECT_EQ(process.Samples(1), 600) << count;
    for (int tid = 2; tid <= count; ++tid) {
      EXPECT_GE(process.Samples(tid), 600 / (count - 1)) << tid << " of " << count;
      EXPECT_LE(process.Samples(tid), 600 / (count - 1) + 1) << tid << " of " << count;
    }
  }
}

TEST(Turns, WhoRanLatelyComesBeforeThoseThatWait) {
  Process process(100);
  process.turns().Ran(7, kSecond);
  process.turns().Ran(8, kSecond);
  process.turns().Ran(8, 2 * kSecond);
  for (int i = 1; i <= 97; ++i) process.Look(kSecond + i * 10 * kMs, 4 * kMs, {1});
  EXPECT_EQ(process.Samples(7), 97);
  EXPECT_EQ(process.Samples(8), 97);
  for (const int tid : {2, 50, 100}) EXPECT_EQ(process.Samples(tid), 1) << tid;
  // 7 ran more than ten seconds before.
  for (int i = 1; i <= 97; ++i) process.Look(11 * kSecond + i * 10 * kMs, 4 * kMs, {1});
  EXPECT_LE(process.Samples(7), 97 + 3);
  EXPECT_EQ(process.Samples(8), 2 * 97);
}

TEST(Turns, AQuarterIsForThoseThatWaitWhereAllOthersRun) {
  Process process(200);
  for (int tid = 2; tid <= 101; ++tid) process.turns().Ran(tid, kSecond);
  for (int i = 1; i <= 100; ++i) process.Look(kSecond + i * kMs, 5 * kMs, {1});
  for (const int tid : {2, 50, 101}) EXPECT_EQ(process.Samples(tid), 3) << tid;
  for (const int tid : {102, 150, 200}) EXPECT_GE(process.Samples(tid), 1) << tid;
}

TEST(Turns, OneOfEachKindIsSampledWhereNoTimeIsLeft) {
  Process process(5);
  process.turns().Ran(4, kSecond);
  process.turns().Ran(5, kSecond);
  for (int i = 1; i <= 12; ++i) process.Look(kSecond + i * kMs, -20 * kMs, {1});
  for (const int tid : {2, 3, 4, 5}) EXPECT_EQ(process.Samples(tid), 6) << tid;
}

TEST(Turns, WhoEndedIsPassedOver) {
  Process process(3);
  for (const int tid : {1, 2, 3}) process.turns().Ran(tid, kSecond);
  process.End(2);
  for (int i = 1; i <= 10; ++i) process.Look(kSecond + i * kMs, 10 * kMs, {});
  EXPECT_EQ(process.Samples(1) + process.Samples(3), 20);
  process.End(1);
  process.End(3);
  process.Look(2 * kSecond, 10 * kMs, {1});
}

}  // namespace
}  // namespace crosscut::samples
