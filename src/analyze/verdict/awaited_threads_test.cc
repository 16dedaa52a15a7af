#include "src/analyze/verdict/awaited_threads.h"

#include <gtest/gtest.h>

#include <string>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

const char kBegins[] = "threading.py:1002 Thread._bootstrap;threading.py:982 Thread.run;";
const char kItem[] = "thread.py:81 _worker;thread.py:58 _WorkItem.run";
const char kHeld[] = "arg \"Holds the GIL\" 1\n", kReleased[] = "arg \"Holds the GIL\" 0\n";

std::string SampleAt(int at, const std::string& line, const std::string& stack,
                     const std::string& more) {
  return "instant [sample] " + std::to_string(at) + "\narg covers_ns 20\narg \"Python stack\" \"" +
         stack + "\"\n" + (line.empty() ? "" : "arg \"Own line\" \"" + line + "\"\n") + more;
}

std::string Waits(const std::string& call) { return "arg \"Waits for\" \"" + call + "\"\n"; }

// The verdict on 10 steps of 1000 ns. In 700 of each the lead is in `call` at "a.py:1 main", else
// at a line that `main` calls; `of_other(begin)` is what another thread does in that time.
template <class OfOther>
Table VerdictOn(const std::string& call, const std::string& waits, OfOther of_other) {
  std::string lead, other = "thread worker tid=8 base=idle\n";
  for (int begin = 0; begin < 10'000; begin += 1000) {
    lead += "step step " + std::to_string(begin) + " " + std::to_string(begin + 1000) + "\nspan " +
            call + " " + std::to_string(begin) + " " + std::to_string(begin + 700) + " idle\n";
    for (int at = begin + 10; at < begin + 1000; at += 20) {
      const bool in = at < begin + 700;
      lead +=
          SampleAt(at, in ? "a.py:1 main" : "a.py:2 small",
                   in ? "a.py:1 main;threading.py:327 Condition.wait" : "a.py:1 main;a.py:2 small",
                   in ? Waits(waits) + kReleased : kHeld);
    }
    other += of_other(begin);
  }
  return Compute(Parse("process train pid=7 window=0..10000\n"
                       "thread main tid=7 base=python main lead\n" +
                       lead + other),
                 "verdict");
}

std::string FirstOf(const Table& verdict) {
  return verdict.texts("cause")[0] + " " + verdict.texts("blame")[0];
}

// Python for 700 ns by its spans, with samples at `line`, of that stack.
std::string Work(int begin, const std::string& line, const std::string& stack,
                 const std::string& more) {
  std::string out =
      "span w " + std::to_string(begin) + " " + std::to_string(begin + 700) + " python\n";
  for (int at = begin + 11; at < begin + 700; at += 20) out += SampleAt(at, line, stack, more);
  return out;
}

TEST(AwaitedThreads, ALibrarysFunctionOnAThreadOfItsOwnIsAwaitedAtTheLeadsLine) {
  for (const auto& [call, waits] :
       {std::pair("threading.Lock.acquire", "futex"), {"select.epoll.poll", "epoll_wait"}}) {
    for (const std::string inner : {kItem, "pool.py:125 worker;pool.py:48 mapstar", ""}) {
      std::string stack = kBegins + inner;
      if (inner.empty()) stack.pop_back();  // Thread(target=zlib.compress)
      for (const auto& [gil, cause] : {std::pair(kReleased, "native"), {kHeld, "python"}}) {
        const Table verdict =
            VerdictOn(call, waits, [&](int begin) { return Work(begin, "", stack, gil); });
        EXPECT_EQ(FirstOf(verdict), std::string(cause) + " a.py:1 main") << call << stack;
        EXPECT_NEAR(verdict.reals("gain_share")[0], 0.7, 0.01) << "without what the lead calls";
        EXPECT_GT(verdict.reals("gain_low_share")[0], 0.6);
      }
    }
  }
}

// A third of its work is at no line of the program: that part is the lead's line's.
TEST(AwaitedThreads, WhatHasNoLineIsNotPutDownToLinesOfOthers) {
  const Table places_verdict = VerdictOn("threading.Lock.acquire", "futex", [&](int begin) {
    const bool own = begin % 3000 != 0;
    const std::string stack = std::string(kBegins) + kItem;
    return Work(begin, own ? "b.py:5 pack" : "", own ? stack + ";b.py:5 pack" : stack, kReleased);
  });
  EXPECT_EQ(FirstOf(places_verdict), "native b.py:5 pack");
  EXPECT_NEAR(places_verdict.reals("gain_share")[0], 0.42, 0.01);
}

// It is seen between its wait for work and the GIL as often as at work.
TEST(AwaitedThreads, WhoWakesUpRunsNoNativeCode) {
  const std::string loop = std::string(kBegins) + "thread.py:79 _worker";
  const Table verdict = VerdictOn("threading.Lock.acquire", "futex", [&](int begin) {
    std::string out = Work(begin, "b.py:5 count", loop + ";b.py:5 count", kHeld);
    for (int at = begin + 15; at < begin + 700; at += 10) {
      out += SampleAt(at, "", loop, at % 20 < 10 ? kReleased : Waits("futex") + kReleased);
    }
    return out;
  });
  EXPECT_EQ(FirstOf(verdict), "python b.py:5 count");
}

}  // namespace
}  // namespace crosscut::analyze
