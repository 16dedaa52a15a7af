#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

std::string Range(int begin, int end) { return std::to_string(begin) + " " + std::to_string(end); }

// Ten steps of 60 ns, every second one left out, with `forward` in the first half of each; `more`
// goes on from 600 to 1000.
std::string Program(const std::string& more, int last_level = 4) {
  std::string text =
      "process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n";
  for (int i = 0; i < 10; ++i) {
    const int begin = 60 * i, end = i == 9 ? 1000 : begin + 60;
    const int level = i == 9 ? last_level : i % 2 == 0 ? 2 : 4;
    text += "step step " + Range(begin, end) + " number=" + std::to_string(i) +
            " level=" + std::to_string(level) + "\nop forward " + Range(begin, begin + 30) + "\n";
  }
  return text + more;
}

std::string Samples(int begin, int end, const std::string& line) {
  std::string text;
  for (int at = begin + 5; at < end; at += 10) {
    text += "instant [sample] " + std::to_string(at) + "\narg covers_ns 10\narg \"Own line\" \"" +
            line + "\"\n";
  }
  return text;
}

// "work ns observed_ns more_ns most_in line samples", and the finding, of each row.
std::vector<std::string> RowsOf(const std::string& text) {
  const Table table = Compute(Parse(text), "beside_steps");
  std::vector<std::string> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    const int64_t samples = table.integers("samples")[row];
    out.push_back(table.texts("work")[row] + " " + std::to_string(table.integers("ns")[row]) + " " +
                  std::to_string(table.integers("observed_ns")[row]) + " " +
                  std::to_string(table.integers("more_ns")[row]) + " " +
                  table.texts("most_in")[row] + " " + table.texts("line")[row] + " " +
                  (samples == kMissing ? "-" : std::to_string(samples)));
    out.push_back(table.texts("finding")[row]);
  }
  return out;
}

using Found = std::vector<std::string>;

TEST(BesideSteps, AnOperationOfAStepThatWasLeftOutIsToldWithItsLine) {
  EXPECT_EQ(RowsOf(Program("op evaluate 600 1000\n" + Samples(600, 1000, "a.py:9 main"))),
            (Found{"evaluate 400 0 400 left-out steps a.py:9 main 40",
                   "Beside the observed steps evaluate takes 400 ns, 40 % of the window: in "
                   "left-out steps, at a.py:9 main."}));
}

TEST(BesideSteps, WhatObservedStepsHaveAsMuchOfIsNotTold) {
  // `forward` is half of observed steps and 150 of 700 ns of those that were left out.
  EXPECT_EQ(RowsOf(Program("")), Found());
  // Here it is all of these.
  EXPECT_EQ(RowsOf(Program("op forward 570 1000\n")),
            (Found{"forward 580 150 230 left-out steps  -", ""}));
}

TEST(BesideSteps, OfControlStepsNothingIsKnownButWhatWasOpenAtTheirBegin) {
  // The last one begins in `forward`, and what follows it has that, too.
  std::string text = Program("", 0);
  text.replace(text.find("540 1000"), 8, "540 700");
  EXPECT_EQ(RowsOf(text), Found());
}

TEST(BesideSteps, AnOperationBetweenStepsIsTold) {
  std::string text =
      "process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n";
  for (const int begin : {0, 100, 500, 600}) {
    text += "step step " + Range(begin, begin + 100) + " number=" + std::to_string(begin) + "\n";
  }
  EXPECT_EQ(RowsOf(text + "op evaluate 200 500\nop save 700 790\n"),
            (Found{"evaluate 300 0 300 between steps  -",
                   "Beside the observed steps evaluate takes 300 ns, 30 % of the window: between "
                   "steps.",
                   "save 90 0 90 shutdown  -", ""}));
}

TEST(BesideSteps, ALineOfAStepThatWasLeftOutIsToldForWhatIsCertain) {
  const std::string usual = Samples(0, 600, "a.py:3 train");
  const Found found = RowsOf(Program(usual + Samples(600, 1000, "a.py:9 evaluate")));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].substr(0, 24), "a.py:9 evaluate 399 0 37");
  EXPECT_EQ(
      found[1],
      "Beside the observed steps a.py:9 evaluate takes 399 ns, 40 % of the window: in left-out "
      "steps.");
  // One that observed steps have, too, of which the last one has more.
  EXPECT_EQ(RowsOf(Program(Samples(0, 1000, "a.py:3 train"))),
            (Found{"a.py:3 train 550 150 180 left-out steps  -", ""}));
}

TEST(BesideSteps, WithoutStepsThereIsNothingBesideThem) {
  EXPECT_EQ(RowsOf("process train pid=7 window=0..1000\nthread main tid=7 base=python main lead\n"
                   "op evaluate 0 900\n"),
            Found());
}

}  // namespace
}  // namespace crosscut::analyze
