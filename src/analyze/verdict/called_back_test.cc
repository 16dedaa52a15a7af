#include "src/analyze/verdict/called_back.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

struct Other {
  std::string called_by, waits, library = "libpython3.11.so";
};

// The first cause and line of a lead that waits inside of `call` for a second, while another thread
// is at a line of the program with these frames outside.
std::pair<std::string, std::string> While(const std::string& call, const Other& other) {
  std::string lead = call, worker;
  for (int ms = 20; ms < 1000; ms += 20) {
    const std::string at =
        "instant [sample] " + std::to_string(ms) + "000000\narg covers_ns 20000000\n";
    lead += at + "arg \"Own line\" \"a.py:1 f\"\narg \"Python stack\" \"a.py:1 f;lib.py:2 g\"\n" +
            "arg \"Waits for\" futex\n";
    worker += at + "arg \"Own line\" \"a.py:7 asked\"\narg \"Python stack\" \"" + other.called_by +
              "a.py:7 asked\"\narg Library " + other.library + "\n";
    if (!other.waits.empty()) worker += "arg \"Waits for\" " + other.waits + "\n";
  }
  const Table table = Compute(Parse("# crosscut trace\nprocess train pid=7 window=0..1000000000\n"
                                    "thread main tid=7 base=python main lead\n" +
                                    lead + "thread pool tid=8\n" + worker),
                              "verdict");
  return {table.texts("cause")[0], table.texts("blame")[0]};
}

using Told = std::pair<std::string, std::string>;

constexpr const char* kOperator = "span jit 0 1000000000 framework\n";

TEST(CalledBack, AnOperatorThatWaitsForAFunctionOfTheProgramIsThatFunction) {
  const std::string callback = "callback.py:224 _callback;";
  EXPECT_EQ(While(kOperator, {callback, ""}), Told("python", "a.py:7 asked"));
  EXPECT_EQ(While(kOperator, {callback, "", "libz.so.1"}), Told("native", "a.py:7 asked"));
  EXPECT_EQ(While(kOperator, {callback, "clock_nanosleep"}), Told("waiting", "a.py:7 asked"));
}

TEST(CalledBack, AThreadOfTheProgramsOwnIsNoCallback) {
  const Told told = While(kOperator, {"threading.py:1012 Thread._bootstrap;", ""});
  EXPECT_EQ(told, Told("lock", "a.py:1 f")) << "it has the GIL";
}

TEST(CalledBack, WhatPreparesDataIsInputAtItsLine) {
  EXPECT_EQ(While(kOperator, {"from_generator_op.py:9 get;", ""}), Told("input", "a.py:7 asked"));
  EXPECT_EQ(While("op data 0 1000000000\nspan next 0 1000000000 framework\n",
                  {"script_ops.py:9 __call__;", ""}),
            Told("input", "a.py:7 asked"));
}

}  // namespace
}  // namespace crosscut::analyze
