// How much of a comparison a document shows, and when it names a place: of tables that are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/compare/document.h"

namespace crosscut::compare {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::kMissing;
using analyze::Texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Row = std::vector<std::string>;

// Columns of so many rows: the same cell in each, or one after the other.
Column Same(const char* name, size_t rows, const char* text) { return {name, Texts(rows, text)}; }
Column Same(const char* name, size_t rows, int64_t number) {
  return {name, Integers(rows, number)};
}
Column Numbered(const char* name, size_t rows) {
  Texts texts;
  for (size_t i = 0; i < rows; ++i) texts.push_back("n" + std::to_string(i));
  return {name, std::move(texts)};
}

// Of steps that are compared, without what they were undisturbed.
analyze::Table Steps(size_t processes) {
  return {"diff_steps",
          {Numbered("process", processes), Same("kind", processes, "step"),
           Same("a_ns", processes, 100), Same("b_ns", processes, 300),
           Same("change_ns", processes, 200), Same("change_undisturbed_ns", processes, 150),
           Same("low_ns", processes, 1), Same("high_ns", processes, 2)},
          {}};
}

analyze::Table Operations(size_t count) {
  Integers stands(count, 0);
  if (count > 0) stands[0] = 1;
  return {"diff_step_operations",
          {Same("process", count, "n0"),
           Same("kind", count, "step"),
           Numbered("operation", count),
           Same("a_ns", count, 10),
           Same("b_ns", count, 30),
           Same("change_ns", count, 20),
           Same("change_undisturbed_ns", count, 15),
           Same("low_ns", count, 1),
           Same("own_ns", count, 100),
           {"stands_out", std::move(stands)}},
          {}};
}

report::Document Made(std::vector<analyze::Table> tables) {
  Comparison comparison;
  comparison.tables = std::move(tables);
  return MakeDocument(comparison, {});
}

const report::Section& SectionOf(const report::Document& document, const std::string& heading) {
  static const report::Section none;
  for (const report::Section& section : document.sections) {
    if (section.heading == heading) return section;
  }
  return none;
}

TEST(Sentences, EightOperationsHaveRowsAndMoreAreSummed) {
  const auto names = [](const report::Section& section) {
    Row out;
    for (const Row& row : section.grid.rows) out.push_back(row[0]);
    return out;
  };
  const std::string heading = "A step of n0";
  EXPECT_THAT(names(SectionOf(Made({Steps(1), Operations(8)}), heading)),
              ElementsAre("n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "in all"));
  const report::Document nine = Made({Steps(1), Operations(9)});
  const report::Section& section = SectionOf(nine, heading);
  EXPECT_THAT(names(section),
              ElementsAre("n0", "n1", "n2", "n3", "n4", "n5", "n6", "2 others", "in all"));
  EXPECT_THAT(section.grid.rows[7],
              ElementsAre("2 others", "20 ns", "60 ns", "+40 ns", "+30 ns", "-", "-", "-"));
  EXPECT_THAT(section.grid.rows[0],
              ElementsAre("n0", "10 ns", "30 ns", "+20 ns", "+15 ns", "+100 ns", "-", "-"));
  // What is not known of one is not known of the sum.
  analyze::Table operations = Operations(9);
  std::get<Integers>(operations.columns[4].cells)[8] = kMissing;
  EXPECT_THAT(SectionOf(Made({Steps(1), operations}), heading).grid.rows[7],
              ElementsAre("2 others", "20 ns", "-", "+40 ns", "+30 ns", "-", "-", "-"));
}

TEST(Sentences, ThreeOtherProcessesHaveRows) {
  for (const size_t processes : {1, 2, 4, 5}) {
    const report::Document document = Made({Steps(processes), Operations(1)});
    const report::Section& section = SectionOf(document, "Other steps");
    EXPECT_EQ(section.grid.rows.size(), std::min<size_t>(processes - 1, 3));
    EXPECT_EQ(section.after, processes > 4 ? Row{"All of them: table diff_steps."} : Row{});
  }
}

TEST(Sentences, FiveNamesOfAWholeRunAndThreeProcessesThatAreLackingHaveRows) {
  const auto made = [](size_t count) {
    Integers changes(count + 1, 3);
    changes.back() = 0;
    return Made({{"diff_steps", {}, {}},
                 {"diff_functions",
                  {Numbered("name", count + 1),
                   Same("a_count", count + 1, 1000),
                   Same("b_count", count + 1, 1003),
                   {"change_count", std::move(changes)},
                   Same("change_total_ns", count + 1, -7)},
                  {}},
                 {"diff_processes",
                  {Numbered("process", count), Same("a_runs", count, int64_t{0}),
                   Same("b_runs", count, 1), Same("b_window_ns", count, 50)},
                  {}}});
  };
  const std::string counts = "Counts of the whole run that changed",
                    lacking = "Processes that one side lacks";
  for (const size_t count : {3, 4, 5, 6, 8}) {
    const report::Document document = made(count);
    const report::Section &names = SectionOf(document, counts),
                          &processes = SectionOf(document, lacking);
    EXPECT_EQ(names.grid.rows.size(), std::min<size_t>(count, 5));
    EXPECT_THAT(names.grid.rows[2], ElementsAre("n2", "1,000", "1,003", "-7 ns"));
    EXPECT_EQ(
        names.after,
        count > 5 ? Row{std::to_string(count - 5) + " more names: table diff_functions."} : Row{});
    EXPECT_EQ(processes.grid.rows.size(), 3u);
    EXPECT_THAT(processes.grid.rows[2], ElementsAre("n2", "-", "50 ns"));
    EXPECT_EQ(processes.after, count > 3 ? Row{"All of them: table diff_processes."} : Row{});
  }
  EXPECT_THAT(SectionOf(made(0), counts).heading, IsEmpty());
  EXPECT_THAT(SectionOf(made(0), lacking).heading, IsEmpty());
}

struct Line {
  int64_t change, low, high;
  const char* a_line = "";
};
std::string AboutLines(const std::vector<Line>& lines) {
  const size_t rows = lines.size();
  Integers change, low, high;
  Texts in_a;
  for (const Line& line : lines) {
    change.push_back(line.change);
    low.push_back(line.low);
    high.push_back(line.high);
    in_a.push_back(line.a_line);
  }
  const report::Document document = Made({Steps(1),
                                          Operations(2),
                                          {"diff_step_lines",
                                           {Same("process", rows, "n0"),
                                            Same("kind", rows, "step"),
                                            Same("operation", rows, "n0"),
                                            Numbered("line", rows),
                                            Same("a_samples", rows, 1000),
                                            Same("b_samples", rows, 9),
                                            {"change_ns", change},
                                            {"low_ns", low},
                                            {"high_ns", high},
                                            {"a_line", in_a}},
                                           {}}});
  const auto& after = SectionOf(document, "A step of n0").after;
  return after.empty() ? "" : after[0];
}

// The operation changed by 100 ns.
TEST(Sentences, ALineIsNamedThatHasHalfOfTheChangeAtLeast) {
  const std::string samples = " by 1,000 and 9 samples).";
  EXPECT_EQ(AboutLines({{-200, -201, -199}, {49, 48, 50}}), "");
  EXPECT_EQ(AboutLines({{-200, -201, -199}, {50, 1, 99}}),
            "In n0: n1, +50 ns of the mean step (+1 ns to +99 ns" + samples);
  EXPECT_EQ(AboutLines({{50, 0, 99, "old"}}),
            "In n0: likely n0 (A: old), +50 ns of the mean step (0 ns to +99 ns" + samples);
  EXPECT_EQ(AboutLines({{60, -9, -1}}),
            "In n0: n0, +60 ns of the mean step (-9 ns to -1 ns" + samples);
  EXPECT_EQ(AboutLines({{60, -9, 0}}),
            "In n0: likely n0, +60 ns of the mean step (-9 ns to 0 ns" + samples);
}

struct Called {
  int64_t change, changed, a, b;
  const char* layer = "framework";
};
std::string AboutNames(const std::vector<Called>& names) {
  const size_t rows = names.size();
  Integers change, changed, a, b;
  Texts layers;
  for (const Called& name : names) {
    change.push_back(name.change);
    changed.push_back(name.changed);
    a.push_back(name.a);
    b.push_back(name.b);
    layers.push_back(name.layer);
  }
  const report::Document document = Made({Steps(1),
                                          Operations(2),
                                          {"diff_step_names",
                                           {Same("process", rows, "n0"),
                                            Same("kind", rows, "step"),
                                            Same("operation", rows, "n0"),
                                            Numbered("name", rows),
                                            {"layer", layers},
                                            {"change_ns", change},
                                            {"changed", changed},
                                            {"a_ns", a},
                                            {"b_ns", b},
                                            Same("a_low", rows, 1),
                                            Same("a_high", rows, 2),
                                            Same("b_low", rows, 1003),
                                            Same("b_high", rows, 1003)},
                                           {}}});
  const auto& after = SectionOf(document, "A step of n0").after;
  return after.empty() ? "" : after[0];
}

TEST(Sentences, ANameIsThatOfTheLeastThatHasAboutTheChange) {
  const std::string calls = " (1 to 2 and 1,003 calls).";
  EXPECT_EQ(AboutNames({{49, 1, 5, 54}, {201, 1, 5, 206}, {-100, 1, 200, 100}, {100, 0, 5, 105}}),
            "");
  EXPECT_EQ(AboutNames({{49, 1, 5, 54}, {50, 1, 5, 55}}), "In n0: n1, +50 ns" + calls);
  EXPECT_EQ(AboutNames({{200, 1, 5, 205}}), "In n0: n0, +200 ns" + calls);
  EXPECT_EQ(AboutNames({{100, 0, 5, 105, "device"}}), "In n0: n0, +100 ns" + calls);
  // By what it takes on the side where it takes more; of equals the first.
  EXPECT_EQ(AboutNames({{90, 1, 900, 990}, {100, 1, 200, 300}, {80, 1, 220, 300}}),
            "In n0: n1, +100 ns" + calls);
}

struct Times {
  int64_t a_mean, a_undisturbed, b_mean, b_undisturbed;
};
// Of the step, and of an operation.
std::string AboutBusy(const Times& step, const Times& operation) {
  const auto with = [](analyze::Table table, const Times& times) {
    const size_t rows = table.rows();
    table.columns.push_back(Same("a_corrected_ns", rows, times.a_mean));
    table.columns.push_back(Same("a_undisturbed_ns", rows, times.a_undisturbed));
    table.columns.push_back(Same("b_corrected_ns", rows, times.b_mean));
    table.columns.push_back(Same("b_undisturbed_ns", rows, times.b_undisturbed));
    return table;
  };
  const report::Document document = Made({with(Steps(1), step), with(Operations(1), operation)});
  const auto& after = SectionOf(document, "A step of n0").after;
  return after.empty() ? "" : after[0];
}

TEST(Sentences, ABusyMachineIsToldWhereMeansAreAQuarterLongerThanUndisturbed) {
  EXPECT_EQ(AboutBusy({1250, 1000, 1000, 1000}, {}), "");
  EXPECT_EQ(AboutBusy({1000, 1000, 1250, 1000}, {}), "");
  const std::string more = " Of what B has more beyond undisturbed steps (+300 ns), ",
                    less = " Of what B has less beyond undisturbed steps (-300 ns), ";
  const std::string busy =
      "The mean step took 1.00 (A) and 1.30 times (B) what it takes undisturbed: the machine was "
      "busy, or some steps do more. The answer does not rest on the means.";
  EXPECT_EQ(AboutBusy({1000, 1000, 1300, 1000}, {}), busy);
  // Two thirds of it in one operation.
  EXPECT_EQ(AboutBusy({1000, 1000, 1300, 1000}, {10, 10, 209, 10}), busy);
  EXPECT_EQ(AboutBusy({1000, 1000, 1300, 1000}, {10, 10, 210, 10}),
            busy + more + "+200 ns is in n0.");
  EXPECT_EQ(AboutBusy({1000, 1000, 1300, 1000}, {310, 10, 10, 10}), busy) << "the other way";
  EXPECT_THAT(AboutBusy({1300, 1000, 1000, 1000}, {410, 10, 10, 10}),
              HasSubstr(less + "-400 ns is in n0."));
  EXPECT_THAT(AboutBusy({1300, 1000, 1300, 1000}, {10, 10, 410, 10}), Not(HasSubstr("Of what B")))
      << "both alike";
}

TEST(Sentences, WhatIsNotComparedIsLeftAtWhatWasRecorded) {
  analyze::Table steps = Steps(1), operations = Operations(2);
  std::get<Integers>(steps.columns[6].cells)[0] = kMissing;
  for (int64_t& low : std::get<Integers>(operations.columns[7].cells)) low = kMissing;
  std::get<Integers>(operations.columns[5].cells) = {20, -50};  // by which they are sorted then
  std::get<Integers>(operations.columns[9].cells) = {0, 0};
  const report::Document document = Made({steps, operations});
  const report::Section& section = SectionOf(document, "A step of n0");
  EXPECT_THAT(section.before, ElementsAre("The mean step, as recorded."));
  EXPECT_EQ(section.grid.heads.size(), 4u);
  EXPECT_THAT(section.grid.rows, ElementsAre(ElementsAre("n1", "10 ns", "30 ns", "-50 ns"),
                                             ElementsAre("n0", "10 ns", "30 ns", "+20 ns"),
                                             ElementsAre("in all", "100 ns", "300 ns", "+200 ns")));
}

}  // namespace
}  // namespace crosscut::compare
