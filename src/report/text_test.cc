#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "src/base/utf8.h"
#include "src/report/table_text.h"
#include "src/report/verdict_words.h"
#include "src/report/views.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Table;
using analyze::Texts;

ReportData Sample(const std::string& name) {
  ReportData data;
  data.title = name;
  data.facts = {{"Command", "python " + name}, {"Run", name}};
  data.gaps = {"Something is missing from " + name + ", and this sentence goes on for long."};
  data.tables.push_back({"processes",
                         {{"process", Texts{"p1"}},
                          {"pid", Integers{7}},
                          {"name", Texts{name}},
                          {"wall_ns", Integers{1000}},
                          {"excluded_ns", Integers{0}}},
                         {}});
  data.tables.push_back({"part_work",
                         {{"process", Texts{"p1", "p1", "p1"}},
                          {"part", Texts{"whole window", "whole window", "whole window"}},
                          {"work", Texts{name, name, ""}},
                          {"what", Texts{"operation", "operation", "none"}},
                          {"layers", Texts{"python", "framework+python", ""}},
                          {"device", Integers{0, 1, 0}},
                          {"ns", Integers{500, 300, 200}},
                          {"corrected_ns", Integers{400, 300, 200}}},
                         {}});
  return data;
}

size_t Columns(std::string_view line) {
  size_t columns = 0, skip;
  for (; !line.empty(); ++columns) {
    const size_t n = base::Utf8Length(line, &skip);
    line.remove_prefix(n == 0 ? skip : n);
  }
  return columns;
}

TEST(Text, FitsTheTerminalAndHoldsNothingThatATerminalObeys) {
  const std::string hostile =
      std::string("a\x1b[2J\r\n\x07 b\xff \xe2\x80\xae c \x9b") + std::string(300, 'x');
  for (const int width : {80, 100, 200}) {
    const std::string text = RenderText(Sample(hostile), {width, false});
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = text.find('\n', at);
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (line.find(' ', 4) != std::string_view::npos && line.find("xxx") == line.npos) {
        EXPECT_LE(Columns(line), static_cast<size_t>(width)) << line;
      }
      for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << text;
      at = end + 1;
    }
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  }
}

TEST(Text, CutsNamesOnlyAtATerminal) {
  const std::string name = "aten::_scaled_dot_product_" + std::string(200, 'x') + "_for_cpu";
  EXPECT_EQ(RenderText(Sample(name), {.width = 100}).find(name + "  "), std::string::npos);
  const std::string whole = RenderText(Sample(name), {.width = 100, .whole = true});
  EXPECT_NE(whole.find("\n  " + name + " "), std::string::npos) << whole;
  EXPECT_EQ(whole.find("…"), std::string::npos);
  EXPECT_NE(RenderMarkdown(Sample(name)).find("x\\_for\\_cpu | 80.0 %"), std::string::npos);
}

TEST(Text, SaysFirstWhatIsMissing) {
  ReportData data = Sample("train.py");
  EXPECT_EQ(RenderText(data, {}).substr(0, 23), "! Something is missing ");
  data.gaps.clear();
  EXPECT_EQ(RenderText(data, {}).substr(0, 19), "Nothing is missing:");
}

TEST(Text, ShowsNumbersOfTheTables) {
  const std::string text = RenderText(Sample("train.py"), {});
  for (const char* part : {"80.0 %", "800 ns", "700 ns", "+python", "unknown", "(no line seen)",
                           "in all", "1.000 µs"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Text, SaysWhatProcessorsAndMemoryWereUsed) {
  ReportData data = Sample("train.py");
  EXPECT_EQ(RenderText(data, {100, false}).find("Used"), std::string::npos);
  data.tables.push_back({"utilization",
                         {{"process", Texts{"p1", "p1"}},
                          {"begin_ns", Integers{0, 400}},
                          {"end_ns", Integers{400, 1000}},
                          {"cpu_ns", Integers{400, 1100}},
                          {"resident_bytes", Integers{1 << 30, analyze::kMissing}},
                          {"peak_bytes", Integers{analyze::kMissing, analyze::kMissing}}},
                         {}});
  const auto used = [&] {
    const std::string text = RenderText(data, {200, false});
    const size_t begin = text.find("Used");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(used(),
            "Used     1.5 processors, 1 GiB (on the mean, and resident at most when looked at, "
            "twice a second)");
  auto& columns = data.tables.back().columns;
  std::get<Integers>(columns.back().cells)[1] = 3LL << 30;
  EXPECT_EQ(used(), "Used     1.5 processors, 3 GiB (on the mean, and resident at most)");
  auto& processes = data.tables.front();
  ASSERT_EQ(processes.name, "processes");
  std::get<Texts>(processes.columns[0].cells).push_back("p2");
  std::get<Integers>(processes.columns[1].cells).push_back(8);
  std::get<Texts>(processes.columns[2].cells).push_back("a child");
  std::get<Integers>(processes.columns[3].cells).push_back(10);
  std::get<Integers>(processes.columns[4].cells).push_back(0);
  EXPECT_EQ(used(),
            "Used     train.py (pid 7) 1.5 processors, 3 GiB; 1 more process (on the mean, "
            "and resident at most)");
}

TEST(Text, SaysOfWhichProcessesRecordingCostSomething) {
  ReportData data = Sample("train.py");
  data.tables.push_back({"overhead_check",
                         {{"process", Texts{"p1", "p2", "p3", "p4"}},
                          {"control_steps", Integers{9, 9, 0, 9}},
                          {"checked", Integers{1, 1, 1, 1}},
                          {"message", Texts{"", "", "", ""}},
                          {"cost", Reals{0.02, 0.02, 0.5, 0.03}},
                          {"cost_low", Reals{0.01, 0.01, 0.4, 0.02}},
                          {"cost_high", Reals{0.03, 0.03, 0.6, 0.05}},
                          {"budget", Reals{0.02, 0.02, 0.02, 0.02}}},
                         {}});
  data.tables.push_back({"overhead", {{"subtracted_ns", Integers{700, 300}}}, {}});
  const std::string text = RenderText(data, {100, false});
  const size_t begin = text.find("What recording itself cost");
  ASSERT_NE(begin, text.npos);
  EXPECT_EQ(text.substr(begin, text.find("\n\n", begin) - begin), R"(What recording itself cost
  2 processes, such as train.py (pid 7): recording cost about 2.00 % of a step (95 %: 1.00 % to 3.00
  %), of a budget of 2.00 %.
  p4: recording cost about 3.00 % of a step (95 %: 2.00 % to 5.00 %), of a budget of 2.00 %.
  1.000 µs are subtracted in all, and "corrected" times lack them; by kind of event: table )"
                                                                  "overhead.");
}

TEST(Text, SharesAreThoseOfTheStepsWhereThereAreSome) {
  ReportData data = Sample("train.py");
  data.tables.back() = {"part_work",
                        {{"process", Texts{"p1", "p1", "p1"}},
                         {"part", Texts{"start-up", "steps", "steps"}},
                         {"work", Texts{"load", "forward", "train.py:4 main"}},
                         {"what", Texts{"operation", "operation", "line"}},
                         {"layers", Texts{"python", "framework", "python"}},
                         {"device", Integers{0, 0, 0}},
                         {"ns", Integers{800, 150, 50}},
                         {"corrected_ns", Integers{800, 150, 50}}},
                        {}};
  data.tables.push_back({"window_parts",
                         {{"process", Texts{"p1", "p1"}},
                          {"part", Texts{"start-up", "steps"}},
                          {"count", Integers{analyze::kMissing, 2}},
                          {"wall_ns", Integers{800, 200}}},
                         {}});
  const std::string text = RenderText(data, {});
  EXPECT_NE(text.find("75.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("train.py:4 main"), std::string::npos) << text;
  EXPECT_EQ(text.find("load"), std::string::npos) << text;
}

TEST(Text, OpensWithTheVerdict) {
  ReportData data = Sample("train.py");
  data.tables.push_back({"verdict",
                         {{"process", Texts{"p1", "p1"}},
                          {"rank", Integers{1, 2}},
                          {"cause", Texts{"input", "python"}},
                          {"headline", Texts{"Input-bound: it waits.", "Python code takes 20 %."}},
                          {"share", Reals{0.7, 0.2}},
                          {"gain_share", Reals{0.7, 0.2}},
                          {"gain_low_share", Reals{0.6, 0.1}},
                          {"gain_high_share", Reals{0.8, 0.3}},
                          {"blame", Texts{"train.py:9 load", ""}},
                          {"evidence", Texts{"7 of 10 ms", "2 of 10 ms"}},
                          {"table", Texts{"step_causes", "part_work"}},
                          {"action", Texts{"load in parallel", "do it once"}}},
                         {}});
  data.gaps.clear();
  const std::string text = RenderText(data, {});
  const size_t title = text.find("train.py\n");
  ASSERT_NE(title, std::string::npos);
  EXPECT_EQ(text.substr(title + 9, 25), "  Input-bound: it waits.\n") << text;
  EXPECT_NE(text.find("train.py:9 load (7 of 10 ms)."), std::string::npos) << text;
  EXPECT_NE(text.find("shorter by 70 % at most (95 %: 60 % to 80 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("Also: Python code takes 20 %."), std::string::npos) << text;
  EXPECT_LT(text.find("Input-bound"), text.find("Command"));
}

TEST(VerdictWords, SayOfWhatTimeTheSharesAre) {
  ReportData data;
  EXPECT_EQ(TimeOfVerdict(data, "p1"), "the time");
  data.tables.push_back({"requests",
                         {{"process", Texts{"p1", "p2"}},
                          {"request", Texts{"GET /", "GET /"}},
                          {"what", Texts{"request", "request"}},
                          {"count", Integers{3, 1}},
                          {"open", Integers{0, 0}}},
                         {}});
  data.tables.push_back({"window_parts",
                         {{"process", Texts{"p1", "p1", "p1", "p2", "p2", "p3", "p4"}},
                          {"part", Texts{"start-up", "requests", "between requests", "requests",
                                         "between requests", "steps", "whole window"}},
                          {"wall_ns", Integers{900, 30, 970, 500, 500, 100, 100}}},
                         {}});
  std::vector<std::string_view> times;
  for (const char* process : {"p1", "p2", "p3", "p4"}) {
    times.push_back(TimeOfVerdict(data, process));
  }
  EXPECT_EQ(times,
            (std::vector<std::string_view>{"the time with requests", "the time with requests",
                                           "the steps", "the time"}));
  EXPECT_EQ(RequestsTexts(data, "p1"),
            std::vector<std::string>{"3 requests of GET /. From the first to the last, requests "
                                     "are under way in 3.0 % of the time."});
  EXPECT_EQ(RequestsTexts(data, "p2"), std::vector<std::string>{"1 request of GET /."});
}

TEST(Text, HasColoursOnlyWhereTheyAreWanted) {
  EXPECT_EQ(RenderText(Sample("a"), {100, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(RenderText(Sample("a"), {100, true}).find("\x1b[1m"), std::string::npos);
}

TEST(Markdown, KeepsNamesFromBeingMarkup) {
  const std::string text = RenderMarkdown(Sample("a|b`<i>*x*"));
  EXPECT_NE(text.find("a\\|b\\`\\<i\\>\\*x\\*"), std::string::npos) << text;
}

TEST(TableText, QuotesCellsThatASpreadsheetWouldRun) {
  Table table{"t",
              {{"text", Texts{"=1+1", "-2", "a\"b", "line\nbreak", "plain"}},
               {"n", Integers{-1, 2, analyze::kMissing, 4, 5}},
               {"r", Reals{0.5, std::numeric_limits<double>::quiet_NaN(), 1, 2, 3}}},
              {}};
  std::string csv, json;
  WriteCsv(table, [&](std::string_view part) { csv += part; });
  WriteJson(table, [&](std::string_view part) { json += part; });
  EXPECT_EQ(csv,
            "text,n,r\n\"'=1+1\",-1,0.5\n\"'-2\",2,\n\"a\"\"b\",,1\n\"line\nbreak\",4,2\n"
            "plain,5,3\n");
  EXPECT_NE(json.find("\"n\": [-1, 2, null, 4, 5]"), std::string::npos);
  EXPECT_NE(json.find("\"r\": [0.5, null, 1, 2, 3]"), std::string::npos);
}

// So that a table of many long texts needs no second copy of them.
TEST(TableText, ComesInShortParts) {
  const Table table{"t", {{"text", Texts(10'000, std::string(1'000, 'x'))}}, {}};
  for (const auto write : {WriteCsv, WriteJson}) {
    size_t longest = 0, all = 0;
    write(table, [&](std::string_view part) {
      longest = std::max(longest, part.size());
      all += part.size();
    });
    EXPECT_GT(all, 10'000'000U);
    EXPECT_LT(longest, 100'000U);
  }
}

TEST(TableText, KeepsIntegersExact) {
  const int64_t large = 9'007'199'254'740'993;  // no double is that number
  const Table table{"t", {{"ns", Integers{large}}}, {}};
  std::string json;
  WriteJson(table, [&](std::string_view part) { json += part; });
  EXPECT_NE(json.find("9007199254740993"), std::string::npos);
}

}  // namespace
}  // namespace crosscut::report
