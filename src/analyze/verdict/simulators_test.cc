#include <gtest/gtest.h>

#include <string>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

std::string Sample(int at, const std::string& line) {
  return "instant [sample] " + std::to_string(at) + "\narg covers_ns 10\narg \"Own line\" \"" +
         line + "\"\n";
}

// A simulator in a process of its own, that works for so long of each 100.
std::string Simulator(int number, int works) {
  const std::string name = std::to_string(number);
  std::string text =
      "process env" + name + " parent=train window=0..1000\nthread main tid=7 base=idle lead\n";
  for (int at = 0; at < 1000; at += 100) {
    text += "op simulate " + std::to_string(at) + " " + std::to_string(at + works) +
            "\nspan Env.step " + std::to_string(at) + " " + std::to_string(at + works) +
            " simulator\n" + Sample(at + works / 2, "env.py:" + name + " step");
  }
  return text;
}

// What the verdict says of a program that steps them.
struct Told {
  std::string blame, action, evidence;
};
Told Of(const std::string& simulators, const std::string& waits = "span os.read 0 1000 idle\n") {
  std::string train =
      "process train window=0..1000\nthread main tid=7 base=python main lead\nop simulate 0 "
      "1000\n" +
      waits;
  for (int at = 5; at < 1000; at += 20) train += Sample(at, "train.py:1 main");
  const Table table = Compute(Parse(train + simulators), "verdict");
  EXPECT_EQ(table.texts("cause")[0], "simulator");
  return {table.texts("blame")[0], table.texts("action")[0], table.texts("evidence")[0]};
}

TEST(Simulators, TheSlowestIsToBlameWhereTheyRunInProcesses) {
  const Told told = Of(Simulator(1, 20) + Simulator(2, 90) + Simulator(3, 30));
  EXPECT_EQ(told.blame, "env.py:2 step");
  EXPECT_EQ(told.action.find("run several"), std::string::npos) << told.action;
  EXPECT_NE(told.evidence.find("the slowest of 3 processes, env2"), std::string::npos)
      << told.evidence;
}

TEST(Simulators, NoneIsTheSlowestWhereTheyTakeAsLong) {
  const Told told = Of(Simulator(1, 80) + Simulator(2, 84));
  EXPECT_EQ(told.evidence.find("slowest"), std::string::npos) << told.evidence;
  EXPECT_EQ(told.blame.substr(0, 7), "env.py:");
}

TEST(Simulators, OneInThisProcessIsToBlameItself) {
  const Told told = Of(Simulator(1, 20), "span Env.step 0 1000 simulator\n");
  EXPECT_EQ(told.blame, "train.py:1 main");
  EXPECT_EQ(told.action.substr(0, 11), "run several");
}

}  // namespace
}  // namespace crosscut::analyze
