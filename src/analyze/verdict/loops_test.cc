#include "src/analyze/verdict/loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// Of a thread: alternately at lines 8 and 9, or first at the one and then at the other, which it is
// in as `does` says.
std::string Samples(bool in_turn, const std::string& does) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const bool second = in_turn ? i % 2 != 0 : i >= 30;
    const std::string line = second ? "a.py:9 serve" : "a.py:8 serve";
    text += "instant [sample] " + std::to_string(50 + 100 * i) +
            "\narg covers_ns 100\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
            line + "\"\n" + (second ? does : "");
  }
  return text;
}

// "cause lines" of the longest place of a process without steps that waits for others.
std::string Longest(const std::string& others) {
  const Table table = Compute(Parse("process main pid=7 window=0..6000\n"
                                    "thread main tid=7 base=python main lead\n"
                                    "span os.read 0 6000 idle\n" +
                                    others),
                              "places");
  return table.texts("cause")[0] + " " + std::to_string(table.integers("lines")[0]);
}

std::string Process(int pid, const std::string& does) {
  const std::string number = std::to_string(pid);
  return "process p" + number + " parent=main pid=" + number +
         " window=0..6000\nthread main tid=" + number + " base=python main lead\n" + does;
}

// What the one that waits does there is no more than to wait.
TEST(Loops, WithoutStepsLinesAreOneByWhatWhoeverRunsThemDoes) {
  EXPECT_EQ(Longest(Process(8, Samples(true, ""))), "other-process 2");
  EXPECT_EQ(Longest(Process(8, Samples(false, ""))), "other-process 1") << "one after the other";
  EXPECT_EQ(Longest(Process(8, Samples(true, "arg \"Waits for\" clock_nanosleep\n"))),
            "other-process 1")
      << "it sleeps";
  EXPECT_EQ(Longest(Process(8, Samples(true, "arg \"Library\" libslow.so\n"))), "other-process 1")
      << "native code";
}

TEST(Loops, ProcessesThatAreAtTheirLinesAtAnyTimeTakeNoTurns) {
  std::string sequences;
  for (int pid = 8; pid < 12; ++pid) sequences += Process(pid, Samples(false, ""));
  EXPECT_EQ(Longest(sequences), "other-process 1");
}

// Samples that meet a thread again where it waits for a processor are no signs of a long line.
TEST(Loops, AThreadThatHadNoProcessorIsMetOnce) {
  const auto thrice_each = [](int64_t run_delay_ns) {
    std::string text =
        "process p8 parent=main pid=8 window=0..6000\n"
        "thread main tid=8 base=python main lead\n";
    for (int i = 0; i < 300; ++i) {
      const std::string line = i / 3 % 2 == 0 ? "a.py:8 serve" : "a.py:9 serve";
      text += "instant [sample] " + std::to_string(10 + 20 * i) +
              "\narg covers_ns 20\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" +
              line + "\"\narg run_delay_ns " + std::to_string(i % 3 == 0 ? 0 : run_delay_ns) + "\n";
    }
    return Longest(text);
  };
  EXPECT_EQ(thrice_each(20), "other-process 2");
  EXPECT_EQ(thrice_each(16), "other-process 1") << "it went on in between";
}

// As workers of a pool, each with a begin and an end of its own.
TEST(Loops, WithoutStepsEachThreadTellsForItself) {
  int loops = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Meeting> mixed, sequences;
    for (uint32_t thread = 0; thread < 12; ++thread) {
      for (int i = 0; i < 10; ++i) {
        const int64_t at = 1000 * i + 100 * static_cast<int64_t>(random() % 100);
        mixed.push_back({random() % 3 == 0, -1, 0, 0, at, thread});
        sequences.push_back({i >= 5, -1, 0, 0, at, thread});
      }
    }
    loops += TakeTurns(mixed);
    EXPECT_FALSE(TakeTurns(sequences));
  }
  EXPECT_GE(loops, 480);
  std::vector<Meeting> apart;
  for (uint32_t i = 0; i < 40; ++i) apart.push_back({i % 2 != 0, -1, 0, 0, i, i % 2});
  std::ranges::stable_sort(apart, {}, &Meeting::thread);
  EXPECT_FALSE(TakeTurns(apart)) << "each of two threads has a line of its own";
}

}  // namespace
}  // namespace crosscut::analyze
