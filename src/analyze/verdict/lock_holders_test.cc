#include <gtest/gtest.h>

#include <string>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

std::string Ms(int at) { return std::to_string(at) + "000000"; }

std::string Sample(int at, const std::string& line, const std::string& call,
                   const std::string& inner = "") {
  return "instant [sample] " + Ms(at) + "\narg covers_ns " + Ms(25) + "\narg \"Own line\" \"" +
         line + "\"\narg \"Python stack\" \"" + line + inner + "\"\n" +
         (call.empty() ? "" : "arg \"Waits for\" " + call + "\n");
}

// A thread that is in `span` and seen at the line, in `call`, in each look but those from `until`.
std::string Other(const std::string& name, const std::string& span, const std::string& line,
                  const std::string& call, int until = 950) {
  std::string out = "thread " + name + " tid=" + std::to_string(name[0]) + " base=python\n";
  if (!span.empty()) out += "span " + span + " 10000000 990000000 idle\n";
  for (int at = 51; at < 950; at += 25) {
    if (at < until) out += Sample(at, line, call);
  }
  return out + Sample(998, "b.py:99 end", "");  // it lives on
}

// The first cause and its line of a program whose lead is in `span`, seen in a futex.
std::string Told(const std::string& span, const std::string& others,
                 const std::string& inner = "") {
  std::string lead;
  if (!span.empty()) lead = "span " + span + " 10000000 990000000 idle\n";
  for (int at = 50; at < 950; at += 25) lead += Sample(at, "a.py:1 main", "futex", inner);
  const Table table = Compute(Parse("process train pid=7 window=0.." + Ms(1000) +
                                    "\nthread main tid=7 base=python main lead\n" + lead + others),
                              "verdict");
  return table.texts("cause")[0] + " " + table.texts("blame")[0];
}

constexpr char kEnter[] = "threading.RLock.__enter__";
constexpr char kLeads[] = "lock a.py:1 main", kOthers[] = "lock a.py:7 hold";

TEST(LockHolders, TheLineIsOfTheOneThreadThatWaitsForNobody) {
  const std::string sleeps = Other("s", "time.sleep", "a.py:7 hold", "clock_nanosleep");
  EXPECT_EQ(Told(kEnter, sleeps), kOthers);
  EXPECT_EQ(Told("threading.Lock.acquire", sleeps), kOthers);
  EXPECT_EQ(Told(kEnter, Other("w", "", "a.py:7 hold", "")), kOthers) << "it works";
  EXPECT_EQ(Told(kEnter, sleeps + Other("q", kEnter, "a.py:8 too", "futex")), kOthers)
      << "the other one waits, too";
}

TEST(LockHolders, WhereThatMayBeAnotherTheLeadKeepsItsLine) {
  const std::string sleeps = Other("s", "time.sleep", "a.py:7 hold", "clock_nanosleep");
  EXPECT_EQ(Told(kEnter, ""), kLeads);
  EXPECT_EQ(Told(kEnter, Other("q", kEnter, "a.py:8 too", "futex")), kLeads) << "both wait";
  EXPECT_EQ(Told(kEnter, sleeps + Other("w", "", "a.py:9 work", "")), kLeads) << "either has it";
  EXPECT_EQ(Told(kEnter, sleeps + Other("f", "", "a.py:9 native", "futex")), kLeads)
      << "one that waits in native code may have it";
  EXPECT_EQ(Told(kEnter, sleeps + Other("w", "", "a.py:9 work", "", 160)), kLeads)
      << "one that was not looked at may have it";
}

// The look before or behind may meet it elsewhere.
TEST(LockHolders, TheHolderIsWhereTheSameLookMeetsIt) {
  std::string others = "thread w tid=8 base=python\nspan time.sleep 10000000 990000000 idle\n";
  for (int at = 49; at < 950; at += 25) {
    others += Sample(at, "a.py:7 hold", "") + Sample(at + 3, "a.py:9 late", "");
  }
  EXPECT_EQ(Told(kEnter, others), kOthers);
}

// Condition.wait takes its own lock again, a reentrant one by a method of its own: that is a lock,
// and its stack says that a thread is awaited.
TEST(LockHolders, WhoTakesALockBackWaitsForItsHolder) {
  const std::string sleeps = Other("s", "time.sleep", "a.py:7 hold", "clock_nanosleep");
  const std::string inner = ";threading.py:336 Condition.wait";
  EXPECT_EQ(Told("threading.RLock._acquire_restore", sleeps, inner), kOthers);
  EXPECT_EQ(Told("threading.RLock._acquire_restore", "", inner), kLeads);
}

// As where calls are not recorded: native code does not wait in Python's own threading.
TEST(LockHolders, AWaitForAThreadThatNoSpanTellsIsNoNativeCode) {
  EXPECT_EQ(Told("", "", ";threading.py:336 Condition.wait"), kLeads);
  EXPECT_EQ(Told("", "", ""), "native a.py:1 main");
}

}  // namespace
}  // namespace crosscut::analyze
