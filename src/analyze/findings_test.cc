// Findings about launches and about native code: what is told of them, and from which share on.
#include "src/analyze/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "src/analyze/recent.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Parse;

// The findings from that table, with their value.
std::vector<std::string> From(const std::string& from, const std::string& text) {
  const trace::Trace trace = Parse(text);
  const Context context(trace);
  const Table table = FindingsTable(trace, context);
  std::vector<std::string> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("table")[row] != from) continue;
    out.push_back(table.texts("process")[row] + "|" + table.texts("message")[row] + "|" +
                  std::to_string(table.integers("value_ns")[row]));
  }
  return out;
}

// Calls of `host` ns, each 1000 ns behind the one before, that launch work of `work` ns. The
// devices' time is from the first work, 500 ns behind its call, to the end of the last.
struct Launch {
  const char* call;
  int host, work;
};
std::string Launches(const std::vector<Launch>& launches) {
  std::string host = "process train pid=7 window=0..100000\nthread main tid=7 main lead\n";
  std::string device = "device gpu device=0 stream=7\n";
  for (size_t i = 0; i < launches.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const int64_t begin = static_cast<int64_t>(i) * 1000;
    host += "span " + std::string(launches[i].call) + " " + std::to_string(begin) + " " +
            std::to_string(begin + launches[i].host) + " runtime\nout " + number + " " +
            std::to_string(begin) + "\n";
    device += "span k " + std::to_string(begin + 500) + " " +
              std::to_string(begin + 500 + launches[i].work) + "\nin " + number + " " +
              std::to_string(begin + 500) + "\n";
  }
  return host + device;
}

TEST(Findings, LaunchesThatTakeLongerThanTheirWorkAreToldWhereTheyAreHalf) {
  const auto told = [](const std::vector<Launch>& launches) {
    return From("launches", Launches(launches));
  };
  EXPECT_THAT(
      told({{"launch", 100, 50}, {"launch", 100, 200}}),
      ElementsAre("train|1 of 2 calls of launch took longer than the work that they launched "
                  "(200 ns on the host): fuse kernels, or launch them as a graph.|200"));
  EXPECT_THAT(told({{"launch", 100, 50}, {"launch", 100, 200}, {"launch", 100, 200}}), IsEmpty());
  EXPECT_THAT(
      told({{"launch", 110, 50}, {"other", 120, 60}, {"other", 120, 60}}),
      ElementsAre("train|2 of 2 calls of other took longer than the work that they launched "
                  "(240 ns on the host): fuse kernels, or launch them as a graph.|240",
                  "train|1 of 1 calls of launch took longer than the work that they launched "
                  "(110 ns on the host): fuse kernels, or launch them as a graph.|110"));
  // 5 % of the 1020 ns of the devices are 51.
  EXPECT_THAT(told({{"launch", 25, 20}, {"launch", 25, 20}}), IsEmpty());
  EXPECT_EQ(told({{"launch", 26, 20}, {"launch", 25, 20}}).size(), 1u);
}

std::string Sampled(const std::string& line, const std::string& library, int ns, int at) {
  return "instant [sample] " + std::to_string(at) + "\narg covers_ns " + std::to_string(ns) +
         "\narg \"Python stack\" \"" + line + "\"\n" +
         (library.empty() ? "" : "arg Library " + library + "\n");
}

TEST(Findings, NativeCodeThatNoSpanShowsIsToldByThreadAndLibrary) {
  const std::string main =
      "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n";
  struct Told {
    std::string thread, time, share, library, line;
    int ns;
  };
  const auto sentence = [](const Told& told) {
    return "train|Thread " + told.thread + " seems to spend " + told.time + " (" + told.share +
           " of its time) in Python that is in fact native code of " + told.library +
           ", called most from " + told.line + ": --wrap MODULE:LAYER records such calls.|" +
           std::to_string(told.ns);
  };
  // Of its lines the one that has most of it, wherever that stands.
  EXPECT_THAT(From("samples", main + Sampled("a.py:1 f", "liba.so", 200, 10) +
                                  Sampled("b.py:2 g", "liba.so", 500, 20) +
                                  Sampled("c.py:3 h", "liba.so", 300, 30) +
                                  Sampled("d.py:4 i", "libb.so", 400, 40)),
              ElementsAre(sentence({"main", "1.00 µs", "71 %", "liba.so", "b.py:2 g", 1000}),
                          sentence({"main", "400 ns", "29 %", "libb.so", "d.py:4 i", 400})));
  // From 5 % of the thread's samples on; the interpreter is Python.
  EXPECT_THAT(From("samples", main + Sampled("a.py:1 f", "liba.so", 49, 10) +
                                  Sampled("a.py:1 f", "", 951, 20)),
              IsEmpty());
  EXPECT_THAT(From("samples", main + Sampled("a.py:1 f", "liba.so", 50, 10) +
                                  Sampled("a.py:1 f", "libpython3.so", 500, 20) +
                                  Sampled("a.py:1 f", "python3.11", 450, 30)),
              ElementsAre(sentence({"main", "50 ns", "5.0 %", "liba.so", "a.py:1 f", 50})));
  // What a span shows is no news, nor what no Python called.
  EXPECT_THAT(
      From("samples", main + "span mm 0 100 native\n" + Sampled("a.py:1 f", "liba.so", 50, 10)),
      IsEmpty());
  EXPECT_THAT(
      From("samples", main + "instant [sample] 10\narg covers_ns 50\narg Library liba.so\n"),
      IsEmpty());
  EXPECT_THAT(From("samples", main + Sampled("a.py:1 f", "liba.so", 60, 10) +
                                  "thread two tid=8 base=python\n" +
                                  Sampled("b.py:2 g", "liba.so", 70, 10)),
              ElementsAre(sentence({"two", "70 ns", "100 %", "liba.so", "b.py:2 g", 70}),
                          sentence({"main", "60 ns", "100 %", "liba.so", "a.py:1 f", 60})));
}

TEST(Findings, ALineHasWhatAllFunctionsThereTake) {
  const std::string main =
      "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n";
  const std::vector<std::string> found =
      From("samples", main + Sampled("a.py:1 f", "liba.so", 300, 10) + "arg Function x\n" +
                          Sampled("a.py:1 f", "liba.so", 300, 20) + "arg Function y\n" +
                          Sampled("b.py:2 g", "liba.so", 400, 30));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("called most from a.py:1 f:"), std::string::npos) << found[0];
}

TEST(Findings, WhatTheInterpreterMayRunItselfIsNotToldAsNativeCode) {
  const std::string main =
      "process train pid=7 window=0..10000\nthread main tid=7 base=python main lead\n";
  for (const char* library : {"libc.so.6", "[generated]", "libtorch_python.so", "ld-linux.so.2"}) {
    EXPECT_THAT(From("samples", main + Sampled("a.py:1 f", library, 1000, 10)), IsEmpty())
        << library;
  }
}

TEST(Findings, WaitsAreHeldAgainstTheWindowWithoutPauses) {
  const std::vector<std::string> found = From("process_waits", R"(
process driver window=0..1000
pause 0 900
thread main tid=1 base=python main
span get 950 1000 comm
in -1 999
process actor window=0..1000
thread main tid=2 base=python main
op sample 900 990
out -1 990
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("50 ns (50 % of the window)"), std::string::npos) << found[0];
}

// Keys that share a place push each other out and are found again.
TEST(Recent, GivesTheMapsElements) {
  std::map<uint32_t, int> sums, expected;
  Recent<std::map<uint32_t, int>> recent;
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t key = i * 7919 % 400;
    recent.In(&sums, key) += static_cast<int>(i);
    expected[key] += static_cast<int>(i);
  }
  EXPECT_EQ(sums, expected);
}

}  // namespace
}  // namespace crosscut::analyze
