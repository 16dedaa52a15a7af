#include "src/analyze/verdict/gil_waits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

// The first cause and its line of a program whose lead is in `span` nearly all the time, seen in
// `call` every 100 ms, while another thread was seen `after_ms` later, in the GIL or not.
std::string Told(const std::string& span, const std::string& call, int after_ms, bool holds) {
  const auto ms = [](int at) { return std::to_string(at) + "000000"; };
  const auto sample = [&](int at, const std::string& line) {
    return "instant [sample] " + ms(at) + "\narg covers_ns " + ms(100) + "\narg \"Own line\" \"" +
           line + "\"\narg \"Python stack\" \"" + line + "\"\n";
  };
  std::string lead = "span " + span + "\n", other = "thread worker tid=8 base=python\n";
  for (int at = 150; at < 900; at += 100) {
    lead += sample(at, "a.py:1 main");
    if (!call.empty()) lead += "arg \"Waits for\" " + call + "\n";
    other += sample(at + after_ms, "a.py:7 holds");
    if (holds) other += "arg \"Holds the GIL\" 1\n";
  }
  const Table table = Compute(Parse("process train pid=7 window=0.." + ms(1000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead + other),
                              "verdict");
  return table.texts("cause")[0] + " " + table.texts("blame")[0];
}

TEST(GilWaits, WhoWaitsByALockInACallThatHasNoneWaitsForTheHolder) {
  const std::string sleep = "time.sleep 10000000 990000000 idle";
  EXPECT_EQ(Told(sleep, "futex", 1, true), "lock a.py:7 holds");
  EXPECT_EQ(Told(sleep, "futex", -1, true), "lock a.py:7 holds");
  EXPECT_EQ(Told("io.FileIO.read 10000000 990000000 native", "futex", 1, true),
            "lock a.py:7 holds");
  EXPECT_EQ(Told("os.read 10000000 990000000 idle", "futex", 1, true), "lock a.py:7 holds");
  EXPECT_EQ(Told(sleep, "", 1, true), "lock a.py:7 holds") << "it wakes now and then";
  EXPECT_EQ(Told("nothing 1 2 native", "futex", 1, true), "lock a.py:7 holds");
}

TEST(GilWaits, OthersDoNot) {
  const std::string sleep = "time.sleep 10000000 990000000 idle";
  EXPECT_EQ(Told(sleep, "clock_nanosleep", 1, true), "waiting a.py:1 main") << "it sleeps";
  EXPECT_EQ(Told("nothing 1 2 native", "", 1, true), "python a.py:1 main") << "or it runs";
  EXPECT_EQ(Told(sleep, "futex", 1, false), "waiting a.py:1 main") << "nobody has it";
  EXPECT_EQ(Told(sleep, "futex", 40, true), "waiting a.py:1 main") << "not at that moment";
  EXPECT_EQ(Told("threading.Lock.acquire 10000000 990000000 idle", "futex", 1, true),
            "lock a.py:1 main")
      << "it waits at a lock of its own";
  EXPECT_EQ(Told("aten::mm 10000000 990000000 framework", "futex", 1, true).substr(0, 9),
            "framework")
      << "operators wait for threads of their own";
}

// A holder whose sample is of another look hides none that is of this one.
TEST(GilWaits, TheHolderIsTheNearestOfTheSameLook) {
  const auto sample = [](int64_t at_us, int64_t covers_us) {
    ThreadSample one;
    one.at_ns = at_us * 1000, one.covers_ns = covers_us * 1000;
    one.python = one.runs = true;
    one.gil = trace::Gil::kHeld;
    return one;
  };
  ThreadSample lead = sample(10'000, 10'000);
  lead.locked = true;
  lead.gil = trace::Gil::kReleased;
  GilWaits gil;
  gil.Take(1, sample(10'500, 100));
  gil.Take(2, sample(11'000, 10'000));
  gil.Sort();
  EXPECT_TRUE(gil.OthersAt(lead));
  EXPECT_TRUE(gil.Add(Cause::kPython, Doing::kNothing, lead, LeadPiece()));
}

// An operator waits by a lock while another thread runs Python, or has the GIL; then the lead waits
// for a lock of the program's own, for as long again and more, and nobody runs.
TEST(GilWaits, WaitsForOtherLocksSayNothingOfTheGil) {
  for (const bool gil : {false, true}) {
    const auto us = [](int at) { return std::to_string(at) + "000000"; };
    std::string lead =
        "span aten::mm 0 300000000 framework\nspan threading.Lock.acquire 300000000 1000000000 "
        "idle\n";
    std::string other = "thread worker tid=8 base=python\n";
    for (int at = 5; at < 1000; at += 10) {
      const auto sample = [&](const std::string& line, const char* holds, const char* waits) {
        return "instant [sample] " + us(at) + "\narg covers_ns " + us(10) +
               "\narg \"Own line\" \"" + line +
               "\"\narg \"Python stack\" \"threading.py:1002 Thread._bootstrap;" + line + "\"\n" +
               (gil ? std::string("arg \"Holds the GIL\" ") + holds + "\n" : "") + waits;
      };
      lead += sample("a.py:1 main", "0", "arg \"Waits for\" futex\n");
      other += at < 300 ? sample("a.py:7 runs", "1", "")
                        : sample("a.py:8 rests", "0", "arg \"Waits for\" nanosleep\n");
    }
    const Table table = Compute(Parse("process train pid=7 window=0..1000000000\n"
                                      "thread main tid=7 base=python main lead\n" +
                                      lead + other),
                                "step_causes");
    ASSERT_EQ(table.rows(), 1u) << gil;
    EXPECT_EQ(table.texts("cause")[0], "lock");
  }
}

// Where an operator waits for the GIL, the line is the holder's, as where Python does.
TEST(GilWaits, AnOperatorThatWaitsForTheGilWaitsForItsHolder) {
  for (const int known_of_ten : {3, 10}) {
    const auto us = [](int at) { return std::to_string(at) + "000000"; };
    std::string lead = "span aten::mm 0 1000000000 framework\n";
    std::string other = "thread worker tid=8 base=python\n";
    for (int at = 5; at < 1000; at += 10) {
      const auto sample = [&](const std::string& line, const std::string& more) {
        return "instant [sample] " + us(at) + "\narg covers_ns " + us(10) +
               "\narg \"Own line\" \"" + line +
               "\"\narg \"Python stack\" \"threading.py:1 Thread.run;" + line + "\"\n" + more +
               "\n";
      };
      lead += sample("a.py:1 main", "arg \"Waits for\" futex");
      if (at / 10 % 10 < known_of_ten) other += sample("a.py:7 holds", "arg \"Holds the GIL\" 1");
    }
    const Table table = Compute(Parse("process train pid=7 window=0..1000000000\n"
                                      "thread main tid=7 base=python main lead\n" +
                                      lead + other),
                                "verdict");
    EXPECT_EQ(table.texts("cause")[0] + " " + table.texts("blame")[0],
              known_of_ten > 5 ? "lock a.py:7 holds" : "lock a.py:1 main");
  }
}

// A thousand looks a second: who holds the GIL in the one before does not hold it in this one.
TEST(GilWaits, WhoHeldItInAnotherLookDoesNotHoldItNow) {
  const auto us = [](int at) { return std::to_string(at) + "000"; };
  const auto locked = [&](int after_us) {
    std::string lead, other = "thread worker tid=8 base=python\n";
    for (int look = 1; look < 200; ++look) {
      const std::string sample = "\narg covers_ns " + us(1000) + "\narg \"Own line\" ";
      lead += "instant [sample] " + us(1000 * look) + sample +
              "\"a.py:1 main\"\narg \"Python stack\" \"a.py:1 main\"\narg \"Waits for\" futex\n";
      other += "instant [sample] " + us(1000 * look + after_us) + sample +
               "\"a.py:7 holds\"\narg \"Python stack\" \"a.py:7 holds\"\narg \"Holds the GIL\" " +
               (look % 5 == 0 ? "1" : "0") + "\narg \"Waits for\" nanosleep\n";
    }
    const Table table = Compute(Parse("process train pid=7 window=0.." + us(200000) +
                                      "\nthread main tid=7 base=python main lead\n" + lead + other),
                                "step_causes");
    int64_t all = 0, locks = 0;
    for (size_t row = 0; row < table.rows(); ++row) {
      all += table.integers("ns")[row];
      if (table.texts("cause")[row] == "lock") locks += table.integers("ns")[row];
    }
    return static_cast<double>(locks) / static_cast<double>(all);
  };
  for (const int after_us : {100, -100}) EXPECT_NEAR(locked(after_us), 0.2, 0.01) << after_us;
}

// The part of the steps that is put down to the GIL, of a lead that waits by a lock in Python and
// is seen each millisecond. In each look a thread of `threads` is seen, too; in turn they have the
// GIL when the lead is seen, or halfway between two looks.
double ForGil(int threads, bool meanwhile) {
  const auto us = [](int at) { return std::to_string(at) + "000"; };
  const auto sample = [&](int at, const std::string& line, int covers) {
    return "instant [sample] " + us(at) + "\narg covers_ns " + us(covers) +
           "\narg \"Own line\" \"" + line + "\"\narg \"Python stack\" \"" + line + "\"\n";
  };
  std::string lead;
  std::vector<std::string> others;
  for (int i = 0; i < threads; ++i) {
    others.push_back("thread worker" + std::to_string(i) + " tid=" + std::to_string(8 + i) +
                     " base=python\n");
  }
  for (int look = 1; look < 400; ++look) {
    lead += sample(1000 * look, "a.py:1 main", 1000) + "arg \"Waits for\" futex\n";
    lead += "arg \"Holds the GIL\" 0\n";
    const int seen = look % threads;
    const bool holds = meanwhile && look / threads % threads == 0;
    others[seen] += sample(1000 * look + 50, "a.py:7 holds", 500) + "arg \"Holds the GIL\" ";
    others[seen] += holds ? "1\n" : "0\narg \"Waits for\" nanosleep\n";
    if (meanwhile) continue;
    others[seen] += sample(1000 * look + 475, "a.py:7 holds", 500) + "arg \"Holds the GIL\" 1\n";
  }
  for (const std::string& other : others) lead += other;
  const Table table = Compute(Parse("process train pid=7 window=0.." + us(400000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead),
                              "step_causes");
  int64_t all = 0, locks = 0;
  for (size_t row = 0; row < table.rows(); ++row) {
    all += table.integers("ns")[row];
    if (table.texts("cause")[row] == "lock") locks += table.integers("ns")[row];
  }
  return static_cast<double>(locks) / static_cast<double>(all);
}

// Who looks a thousand times a second sees few of many threads at once.
TEST(GilWaits, OtherThreadsHaveItWhileTheLeadWaitsNotBetween) {
  EXPECT_LT(ForGil(1, false), 0.01);
  EXPECT_LT(ForGil(3, false), 0.01);
  EXPECT_GT(ForGil(1, true), 0.9);
  EXPECT_GT(ForGil(4, true), 0.9) << "three of four holders were not looked at";
}

// Of threads that have ended no look left one out.
TEST(GilWaits, ThreadsThatHaveEndedHaveItInNoLook) {
  const auto sample = [](int64_t at_ms, trace::Gil gil) {
    ThreadSample one;
    one.at_ns = at_ms * 1'000'000, one.covers_ns = 1'000'000;
    one.gil = gil;
    return one;
  };
  GilWaits gil;
  for (uint32_t thread = 0; thread < 100; ++thread) {
    gil.Take(thread, sample(thread, trace::Gil::kReleased));
  }
  for (int64_t at = 200; at < 400; ++at) {
    gil.Take(100, sample(at, at % 20 == 0 ? trace::Gil::kHeld : trace::Gil::kReleased));
  }
  gil.Sort();
  for (int64_t at = 200; at < 400; ++at) gil.Look(sample(at, trace::Gil::kReleased));
  EXPECT_FALSE(gil.OthersHadIt(/*otherwise=*/true)) << "in one look of twenty";
}

// The first cause of a program without spans and with 40 samples of its lead: in three of four it
// is at a.py:2, with the GIL ("1"), without ("0"), or that is not known ("").
std::string WithoutSpans(const std::string& gil, const std::string& waits,
                         const std::string& others = "") {
  std::string samples;
  for (int i = 0; i < 40; ++i) {
    const bool calls = i % 4 != 0;
    samples += "instant [sample] " + std::to_string(12 + 25 * i) +
               "000000\narg covers_ns 25000000\narg \"Own line\" \"a.py:" + (calls ? "2" : "1") +
               " f\"\narg \"Python stack\" \"a.py:" + (calls ? "2" : "1") + " f\"\n";
    if (calls && !waits.empty()) samples += "arg \"Waits for\" " + waits + "\n";
    const std::string has = calls ? gil : "1";
    if (!has.empty()) samples += "arg \"Holds the GIL\" " + has + "\n";
  }
  const Table table = Compute(Parse("process train pid=7 window=0..1000000000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    samples + others),
                              "verdict");
  return table.texts("cause")[0] + " " + table.texts("blame")[0] + " " +
         std::to_string(std::lround(100 * table.reals("share")[0]));
}

TEST(Gil, WhoRunsWithoutItRunsNativeCode) {
  EXPECT_EQ(WithoutSpans("0", ""), "native a.py:2 f 75");
  EXPECT_EQ(WithoutSpans("0", "madvise"), "native a.py:2 f 75") << "it waits in such code";
  EXPECT_EQ(WithoutSpans("1", ""), "python a.py:2 f 100");
  EXPECT_EQ(WithoutSpans("", ""), "python a.py:2 f 100");
  // While another thread has it, the lead may run to ask for it.
  std::string holder = "thread worker tid=8 base=python\n";
  for (int i = 0; i < 40; ++i) {
    holder += "instant [sample] " + std::to_string(13 + 25 * i) +
              "000000\narg covers_ns 25000000\narg \"Own line\" \"a.py:7 g\"\n"
              "arg \"Python stack\" \"a.py:7 g\"\narg \"Holds the GIL\" 1\n";
  }
  EXPECT_EQ(WithoutSpans("0", "", holder), "python a.py:2 f 100");
}

// In a read of what a child sends, of which the first 800 ms were a wait for the GIL.
TEST(GilWaits, WhatAChildDidMeanwhileIsNotBlamedForIt) {
  const auto ms = [](int at) { return std::to_string(at) + "000000"; };
  const auto sample = [&](int at, const std::string& line) {
    return "instant [sample] " + ms(at) + "\narg covers_ns " + ms(10) + "\narg \"Own line\" \"" +
           line + "\"\narg \"Python stack\" \"" + line + "\"\n";
  };
  std::string lead = "span os.read 10000000 990000000 idle\n", holder, child;
  for (int at = 20; at < 980; at += 10) {
    const bool waits = at < 800;
    lead += sample(at, "a.py:1 main") + "arg \"Waits for\" " + (waits ? "futex" : "read") + "\n";
    holder += sample(at, "a.py:7 holds") + "arg \"Holds the GIL\" " + (waits ? "1" : "0") + "\n";
    child += sample(at, waits ? "c.py:1 child" : "c.py:2 child");
  }
  const std::string window = " window=0.." + ms(1000) + "\n";
  const Table table = Compute(
      Parse("process train pid=7" + window + "thread main tid=7 base=python main lead\n" + lead +
            "thread worker tid=8 base=python\n" + holder + "process child pid=9 parent=train" +
            window + "thread main tid=9 base=python main lead\n" + child),
      "verdict");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.texts("cause")[0] + " " + table.texts("blame")[0], "lock a.py:7 holds");
  EXPECT_EQ(table.texts("cause")[1] + " " + table.texts("blame")[1], "other-process c.py:2 child");
}

}  // namespace
}  // namespace crosscut::analyze
