#include "src/analyze/verdict/idle_threads.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/stacks.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

std::string Ms(int at) { return std::to_string(at) + "000000"; }

std::string SampleAt(int at, const std::string& line, const std::string& stack,
                     const std::string& waits, int covers = 20) {
  return "instant [sample] " + Ms(at) + "\narg covers_ns " + Ms(covers) + "\narg \"Own line\" \"" +
         line + "\"\narg \"Python stack\" \"" + stack + "\"\n" +
         (waits.empty() ? "" : "arg \"Waits for\" \"" + waits + "\"\n");
}

std::string FirstOf(const std::string& lead, const std::string& others) {
  const Table table = Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead + others),
                              "verdict");
  return table.texts("cause")[0] + " " + table.texts("blame")[0];
}

// The first cause and line where the lead is in `call` from 20 to 50, 60 to 90, ..., seen there
// with a stack that ends in `inner`, and a thread sleeps at its line 5 but for 2 ms that begin
// `before` ms before the end of each; seen with a stack that begins with `outer`.
struct Sleeper {
  std::string outer = "a.py:4 work", waits = "clock_nanosleep";
  std::string more = "";  // behind the thread
};
std::string WhileOneSleeps(const std::string& call, const std::string& inner, int before,
                           const Sleeper& sleeper = {}) {
  std::string lead, other = "thread worker tid=8 base=python\n";
  for (int at = 20; at < 980; at += 40) {
    lead += "span " + call + " " + Ms(at) + " " + Ms(at + 30) + " idle\n" +
            SampleAt(at + 10, "a.py:1 main", "a.py:1 main" + inner, "futex", 30);
    other += "span time.sleep " + Ms(at - 8 - before) + " " + Ms(at + 30 - before) + " idle\n" +
             SampleAt(at + 12, "a.py:5 nap", sleeper.outer + ";a.py:5 nap", sleeper.waits, 30);
  }
  return FirstOf(lead, other + sleeper.more);
}

TEST(IdleThreads, WhoWakesTheLeadIsWhatItWaitsFor) {
  const std::string lock = "threading.Lock.acquire", wait = ";threading.py:327 Condition.wait";
  EXPECT_EQ(WhileOneSleeps(lock, wait, 1), "waiting a.py:5 nap") << "it works at its end";
  EXPECT_EQ(WhileOneSleeps("socket.recv", ";socket.py:7 readinto", 1), "waiting a.py:5 nap");
  EXPECT_EQ(WhileOneSleeps(lock, wait, 1, {"a.py:4 work", "recvfrom"}), "other-process a.py:5 nap");
  EXPECT_EQ(WhileOneSleeps(lock, "", 1), "lock a.py:5 nap") << "who leaves a lock had it";
  const std::string starts = ";threading.py:964 Thread.start;threading.py:629 Event.wait";
  EXPECT_EQ(WhileOneSleeps(lock, starts + wait, 1), "waiting a.py:1 main") << "for one to begin";
}

TEST(IdleThreads, WhoSleepsForItselfIsNot) {
  std::string lead, other = "thread worker tid=8 base=python\n";
  for (int at = 20; at < 980; at += 40) {
    lead += "span threading.Lock.acquire " + Ms(at) + " " + Ms(at + 20) + " idle\n" +
            SampleAt(at + 10, "a.py:1 main", "a.py:1 main;threading.py:327 wait", "futex");
  }
  for (int at = 0; at < 980; at += 13) {  // whenever its time comes
    other += "span time.sleep " + Ms(at) + " " + Ms(at + 12) + " idle\n" +
             SampleAt(at + 6, "a.py:5 nap", "a.py:5 nap", "clock_nanosleep", 12);
  }
  EXPECT_EQ(FirstOf(lead, other), "waiting a.py:1 main");
}

TEST(IdleThreads, WhatAPoolOrAServerGaveAThreadIsWaitedFor) {
  const std::string begin = "threading.py:1002 Thread._bootstrap;";
  const auto of = [&](const std::string& outer) {
    return WhileOneSleeps("socket.recv", ";socket.py:7 readinto", 15, {begin + outer});
  };
  EXPECT_EQ(of("a.py:4 work"), "other-process a.py:1 main");
  EXPECT_EQ(of("threading.py:9 Thread.run;socketserver.py:691 ThreadingMixIn.process_request_thread"
               ";socketserver.py:361 BaseServer.finish_request"),
            "waiting a.py:5 nap");
  EXPECT_EQ(of("threading.py:9 Thread.run;thread.py:81 _worker;thread.py:58 _WorkItem.run"),
            "waiting a.py:5 nap");
  EXPECT_EQ(of("threading.py:1045 Thread._bootstrap_inner;_asyncio.py:1124 WorkerThread.run"),
            "waiting a.py:5 nap");
}

// In each third of its sleeps the thread began to sleep when calls were not recorded, as behind a
// control step: by its spans it runs Python there.
TEST(IdleThreads, WhoWasSeenWaitingWhereItsSpansSayPythonDoesNotWork) {
  std::string lead, other = "thread worker tid=8 base=python\n";
  for (int at = 20, sleep = 0; at < 980; at += 40, ++sleep) {
    lead += "span threading.Lock.acquire " + Ms(at) + " " + Ms(at + 30) + " idle\n";
    if (sleep % 3 > 0) other += "span time.sleep " + Ms(at) + " " + Ms(at + 30) + " idle\n";
    for (const int look : {5, 15, 25}) {
      lead += SampleAt(at + look, "a.py:1 main",
                       "a.py:1 main;queue.py:171 Queue.get;threading.py:320 Condition.wait",
                       "futex", 10);
      other += SampleAt(at + look, "a.py:5 nap", "a.py:5 nap", "clock_nanosleep", 10);
    }
    other += "span threading.Lock.__enter__ " + Ms(at + 30) + " " + Ms(at + 31) + " native\n";
  }
  const Table table = Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead + other),
                              "places");
  int64_t ms = 0;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("place")[row] != "a.py:5 nap") continue;
    EXPECT_EQ(table.texts("cause")[row], "waiting");
    ms += table.integers("ns")[row] / 1'000'000;
  }
  EXPECT_EQ(ms, 720);
}

// Of each wait of 30 ms the thread sleeps in the first 10, in which it is seen, and then waits for
// more itself, in which only the lead is.
TEST(IdleThreads, OnlyTheTimeInWhichAThreadIsSeenIsItsLines) {
  std::string lead, other = "thread worker tid=8 base=python\n";
  for (int at = 20; at < 980; at += 40) {
    lead += "span socket.recv " + Ms(at) + " " + Ms(at + 30) + " idle\n";
    for (const int look : {5, 15, 25}) {
      lead +=
          SampleAt(at + look, "a.py:1 main", "a.py:1 main;socket.py:7 readinto", "recvfrom", 10);
    }
    other += "span socket.accept " + Ms(at - 10) + " " + Ms(at) + " idle\nspan time.sleep " +
             Ms(at) + " " + Ms(at + 10) + " idle\n" +
             SampleAt(at + 6, "a.py:5 nap",
                      "threading.py:9 Thread.run;socketserver.py:691 "
                      "ThreadingMixIn.process_request_thread;a.py:5 nap",
                      "clock_nanosleep", 10) +
             "span socket.accept " + Ms(at + 10) + " " + Ms(at + 30) + " idle\n" +
             SampleAt(at + 16, "", "socketserver.py:7 serve_forever", "poll", 10) +
             SampleAt(at + 26, "", "socketserver.py:7 serve_forever", "poll", 10);
  }
  const Table table = Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead + other),
                              "places");
  std::map<std::string, int64_t> ms;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("cause")[row] != "waiting") continue;
    ms[table.texts("place")[row]] = table.integers("ns")[row] / 1'000'000;
  }
  EXPECT_EQ(ms["a.py:5 nap"], 240);
  EXPECT_EQ(ms["a.py:1 main"], 480);
}

// The first cause and line where the lead waits at a socket from 20 to 50, 60 to 90, ..., and a
// thread works at its line 7 then, or always.
std::string WhileOneWorks(bool always, const std::string& more = "") {
  std::string lead, other = "thread worker tid=8 base=python\n";
  for (int at = 20; at < 980; at += 40) {
    lead += "span socket.recv " + Ms(at) + " " + Ms(at + 30) + " idle\n" +
            SampleAt(at + 10, "a.py:1 main", "a.py:1 main;socket.py:7 readinto", "recvfrom");
    if (!always) other += "span socket.recv " + Ms(at - 10) + " " + Ms(at) + " idle\n";
    other += SampleAt(at + 11, "a.py:7 answer", "threading.py:9 run;a.py:7 answer", "", 10);
    if (always) other += SampleAt(at + 35, "a.py:7 answer", "threading.py:9 run;a.py:7 answer", "");
  }
  return FirstOf(lead, other + more);
}

TEST(IdleThreads, WhoWorksWhileTheLeadWaitsAtASocketAndNotOtherwiseAnswers) {
  EXPECT_EQ(WhileOneWorks(false), "python a.py:7 answer");
  EXPECT_EQ(WhileOneWorks(true), "other-process a.py:1 main");
  EXPECT_EQ(WhileOneWorks(false, "process child pid=9 parent=train window=0.." + Ms(1000) +
                                     "\nthread main tid=9 base=python main lead\n"),
            "other-process a.py:1 main")
      << "the child may answer";
}

// It begins with the answer while the lead still sends, or comes back from that and needs the GIL.
TEST(IdleThreads, WhoAnswersMayBeginWhileTheLeadAsks) {
  const std::string held = "arg \"Holds the GIL\" 1\n", released = "arg \"Holds the GIL\" 0\n";
  const auto of = [&](bool always, bool sends) {
    std::string lead, other = "thread worker tid=8 base=python\n";
    for (int at = 20; at < 980; at += 40) {
      const std::string answers = "threading.py:9 run;a.py:7 answer";
      if (sends) lead += "span socket.sendall " + Ms(at) + " " + Ms(at + 10) + " native\n";
      lead += SampleAt(at - 10, "a.py:1 main", "a.py:1 main", "") + held +
              SampleAt(at + 4, "a.py:1 main", "a.py:1 main", sends ? "" : "futex") + released +
              "span socket.recv " + Ms(at + 10) + " " + Ms(at + 25) + " idle\n" +
              SampleAt(at + 17, "a.py:1 main", "a.py:1 main;socket.py:7 readinto", "recvfrom") +
              released;
      if (!always) other += "span socket.recv " + Ms(at - 15) + " " + Ms(at) + " idle\n";
      if (always) other += SampleAt(at - 9, "a.py:7 answer", answers, "futex", 10) + released;
      other += SampleAt(at + 5, "a.py:7 answer", answers, "", 10) + held +
               SampleAt(at + 18, "a.py:7 answer", answers, "", 10) + held;
    }
    const Table table = Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                                      "\nthread main tid=7 base=python main lead\n" + lead + other),
                                "step_causes");
    int64_t ms = 0;
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("cause")[row] == "other-process") ms = table.integers("ns")[row] / 1'000'000;
    }
    return ms;
  };
  for (const bool sends : {false, true}) {
    EXPECT_EQ(of(false, sends), 0);
    EXPECT_EQ(of(true, sends), 24 * 15) << "it works without regard to the lead";
  }
}

// Of three threads that sleep, the joined one ends where the join does, and another goes on.
TEST(IdleThreads, WhoIsJoinedIsWhatItsEndIsWaitedFor) {
  std::string lead = "span threading.Lock.acquire " + Ms(10) + " " + Ms(900) + " idle\n";
  std::string joined = "thread joined tid=8 base=python life=0.." + Ms(899) + "\n";
  std::string goes_on = "thread beats tid=9 base=python\n";
  joined += "span time.sleep 1 " + Ms(898) + " idle\n";
  goes_on += "span time.sleep 1 " + Ms(999) + " idle\n";
  for (int at = 20; at < 890; at += 20) {
    lead += SampleAt(at, "a.py:1 main", "a.py:1 main;threading.py:1092 Thread.join", "futex");
    joined += SampleAt(at + 1, "a.py:5 nap", "a.py:5 nap", "clock_nanosleep");
    goes_on += SampleAt(at + 2, "a.py:9 beat", "a.py:9 beat", "clock_nanosleep");
  }
  EXPECT_EQ(FirstOf(lead, joined + goes_on), "waiting a.py:5 nap");
  EXPECT_EQ(FirstOf(lead, goes_on), "waiting a.py:1 main");
}

// A thread for each wait, which is seen once in it and ends with it; or half of it is before any.
TEST(IdleThreads, AThreadThatEndsIsSeenUntilItsEnd) {
  for (const bool late : {false, true}) {
    std::string lead, others;
    for (int at = 20; at < 980; at += 40) {
      lead += "span threading.Lock.acquire " + Ms(at) + " " + Ms(at + 30) + " idle\n";
      for (const int look : {5, 15, 25}) {
        lead += SampleAt(at + look, "a.py:1 main", "a.py:1 main;threading.py:1092 Thread.join",
                         "futex", 10);
      }
      others += "thread w" + Ms(at) + " tid=" + std::to_string(1000 + at) +
                " base=python life=" + Ms(at) + ".." + Ms(at + 29) + "\nspan time.sleep " + Ms(at) +
                " " + Ms(at + 29) + " idle\n" +
                SampleAt(at + (late ? 20 : 6), "a.py:5 nap", "a.py:5 nap", "clock_nanosleep", 6);
    }
    const Table table =
        Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                      "\nthread main tid=7 base=python main lead\n" + lead + others),
                "places");
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("place")[row] != "a.py:5 nap") continue;
      EXPECT_NEAR(static_cast<double>(table.integers("ns")[row]) / 24e6, late ? 15 : 29, 0.1);
    }
    EXPECT_EQ(table.texts("cause")[1], "waiting");
  }
}

// Each ends one wait for an event, which it sets before it ends.
TEST(IdleThreads, ThreadsThatLiveForOneWaitAreJudgedTogether) {
  std::string lead, others;
  for (int at = 20; at < 980; at += 40) {
    lead += "span threading.Lock.acquire " + Ms(at) + " " + Ms(at + 30) + " idle\n";
    others += "thread w" + Ms(at) + " tid=" + std::to_string(1000 + at) +
              " base=python life=" + Ms(at) + ".." + Ms(at + 30) + "\nspan time.sleep " + Ms(at) +
              " " + Ms(at + 29) + " idle\n";
    for (const int look : {5, 15, 25}) {
      lead += SampleAt(at + look, "a.py:1 main", "a.py:1 main;threading.py:327 Condition.wait",
                       "futex", 10);
      others += SampleAt(at + look, "a.py:5 nap", "a.py:5 nap", "clock_nanosleep", 10);
    }
  }
  EXPECT_EQ(FirstOf(lead, others), "waiting a.py:5 nap");
}

std::string InNative(const std::string& waits, const std::string& others) {
  std::string lead;
  for (int at = 10; at < 1000; at += 20) {
    lead += SampleAt(at, "a.py:1 main", "a.py:1 main", waits) + "arg \"Holds the GIL\" 0\n";
  }
  return FirstOf(lead, others);
}

TEST(IdleThreads, NativeCodeThatWaitsIsNeitherPythonNorNativeCode) {
  EXPECT_EQ(InNative("epoll_wait", ""), "waiting a.py:1 main");
  EXPECT_EQ(InNative("clock_nanosleep", ""), "waiting a.py:1 main");
  EXPECT_EQ(InNative("recvfrom", ""), "other-process a.py:1 main");
  EXPECT_EQ(InNative("pread64", "").substr(0, 5), "disk ");
  EXPECT_EQ(InNative("madvise", ""), "native a.py:1 main") << "it works in the kernel";
}

TEST(IdleThreads, NativeCodeWaitsForTheThreadsThatWorkMeanwhile) {
  std::string works = "thread worker tid=8 base=python\n", sleeps = works;
  sleeps += "span time.sleep 1 " + Ms(999) + " idle\n";
  for (int at = 11; at < 1000; at += 20) {
    works += SampleAt(at, "a.py:7 handle", "a.py:7 handle", "");
    sleeps += SampleAt(at, "a.py:8 handle",
                       "threading.py:9 run;thread.py:81 _worker;thread.py:58 run;a.py:8 handle",
                       "clock_nanosleep");
  }
  EXPECT_EQ(InNative("epoll_pwait", works), "python a.py:7 handle");
  std::string compresses = "thread worker tid=8 base=python\n";
  for (int at = 11; at < 1000; at += 20) {
    compresses += SampleAt(at, "", "threading.py:9 run;thread.py:81 _worker;thread.py:58 run", "") +
                  "arg \"Holds the GIL\" 0\n";
  }
  EXPECT_EQ(InNative("epoll_pwait", compresses), "native a.py:1 main") << "a library's function";
  EXPECT_EQ(InNative("epoll_pwait", sleeps), "waiting a.py:8 handle");
}

TEST(IdleThreads, ALibraryThatSleepsLooksForWhatThreadsDo) {
  const auto of = [](const std::string& inner, const std::string& waits) {
    std::string lead = "span time.sleep " + Ms(10) + " " + Ms(990) + " idle\n";
    std::string other = "thread worker tid=8 base=python\n";
    if (!waits.empty()) other += "span time.sleep 1 " + Ms(999) + " idle\n";
    for (int at = 20; at < 980; at += 20) {
      lead += SampleAt(at, "a.py:1 main", "a.py:1 main" + inner, "clock_nanosleep");
      other += SampleAt(at + 1, "a.py:5 ask",
                        "threading.py:982 Thread.run;pool.py:125 worker;a.py:5 ask", waits);
    }
    return FirstOf(lead, other);
  };
  EXPECT_EQ(of(";parallel.py:1822 Parallel._retrieve", ""), "python a.py:5 ask");
  EXPECT_EQ(of(";parallel.py:1822 Parallel._retrieve", "clock_nanosleep"), "waiting a.py:5 ask");
  EXPECT_EQ(of("", ""), "waiting a.py:1 main") << "it means to";
}

TEST(IdleThreads, WhatSubprocessSelectsIsAChildEvenIfNothingOfItWasRecorded) {
  const auto of = [](const std::string& stack) {
    std::string lead = "span select.poll.poll " + Ms(10) + " " + Ms(990) + " idle\n";
    for (int at = 20; at < 980; at += 20) lead += SampleAt(at, "a.py:1 main", stack, "poll");
    return FirstOf(lead, "");
  };
  EXPECT_EQ(of("a.py:1 main;subprocess.py:2108 Popen._communicate;selectors.py:415 select"),
            "other-process a.py:1 main");
  EXPECT_EQ(of("a.py:1 main;selectors.py:415 select"), "waiting a.py:1 main");
}

// And so it is for a thread that the lead waits for, at whose line that stays.
TEST(IdleThreads, AThreadThatRunsAChildWaitsForThat) {
  const std::string run = "a.py:4 work;a.py:5 nap;subprocess.py:2108 Popen._communicate";
  const std::string lock = "threading.Lock.acquire", wait = ";threading.py:327 Condition.wait";
  const auto of = [&](const std::string& stack, const std::string& child) {
    return WhileOneSleeps(lock, wait, 1, {stack, "poll", child});
  };
  EXPECT_EQ(of(run, ""), "other-process a.py:5 nap");
  EXPECT_EQ(of("a.py:4 work", ""), "waiting a.py:5 nap") << "it selects for itself";
  std::string child = "process child pid=9 parent=train window=0.." + Ms(1000) +
                      "\nthread main tid=9 base=python main lead\n";
  for (int at = 10; at < 1000; at += 20) child += SampleAt(at, "c.py:1 f", "c.py:1 f", "");
  EXPECT_EQ(of(run, child), "other-process a.py:5 nap");
}

// Who waits for any of several files, or for whoever connects, waits for a process that it did not
// start as long as that works.
TEST(IdleThreads, AServerWaitsForNoProcessThatDoesNothing) {
  const auto of = [](const std::string& call, const std::string& waits, const std::string& others) {
    std::string lead;
    if (!call.empty()) lead = "span " + call + " 1 " + Ms(999) + " idle\n";
    for (int at = 10; at < 1000; at += 20) {
      lead += SampleAt(at, "a.py:1 main", "a.py:1 main", waits) + "arg \"Holds the GIL\" 0\n";
    }
    const Table table =
        Compute(Parse("process starts pid=6 window=0.." + Ms(990) + "\nthread main tid=6 " +
                      others + "process train pid=7 parent=starts window=0.." + Ms(1000) +
                      "\nthread main tid=7 base=python main lead\n" + lead),
                "verdict");
    for (size_t row = 0; row < table.rows(); ++row) {
      if (table.texts("process")[row] != "train" || table.integers("rank")[row] != 1) continue;
      return table.texts("cause")[row] + " " + table.texts("blame")[row];
    }
    return std::string("it does not speak");
  };
  const auto starts = [](const std::string& call) {
    std::string text = "base=python main lead\n";
    if (!call.empty()) text += "span " + call + " 1 " + Ms(989) + " idle\n";
    for (int at = 10; at < 990; at += 20) {
      text += SampleAt(at, "b.py:2 run", "b.py:2 run", call.empty() ? "" : "wait4");
    }
    return text;
  };
  for (const auto& [call, waits] : {std::pair("select.poll.poll", "poll"),
                                    {"select.epoll.poll", "epoll_wait"},
                                    {"socket._accept", "accept4"},
                                    {"", "epoll_wait"}}) {
    EXPECT_EQ(of(call, waits, "main lead\n"), "waiting a.py:1 main") << call << ": it is a shell";
    EXPECT_EQ(of(call, waits, starts("os.waitpid")), "waiting a.py:1 main") << call << ": it waits";
    // Of a wait without a span it is not known what others do for it.
    const std::string line = *call != '\0' ? "b.py:2 run" : "a.py:1 main";
    EXPECT_EQ(of(call, waits, starts("")), "other-process " + line) << call;
  }
  EXPECT_EQ(of("", "accept4", starts("")), "waiting a.py:1 main");
}

TEST(IdleThreads, OfOneProcessNoOtherOneIsSaidToAnswer) {
  const std::string lead =
      "process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n"
      "span socket.recv 100 900 idle\n";
  const auto headline = [&](const std::string& more) {
    return Compute(Parse(lead + more), "verdict").texts("headline")[0];
  };
  EXPECT_EQ(headline(""),
            "Bound by whoever answers: waiting for a connection, a pipe or a child takes 80 % of "
            "the window.");
  EXPECT_EQ(headline("process other pid=9 window=0..1000\nthread main tid=9 base=idle main lead\n"),
            "Bound by another process: waiting for it takes 80 % of the window.");
}

}  // namespace
}  // namespace crosscut::analyze
