#include <gtest/gtest.h>

#include "src/report/views.h"

namespace crosscut::report {
namespace {

using analyze::Integers;
using analyze::kMissing;
using analyze::Texts;

ReportData Sample(const std::string& name, size_t rows) {
  ReportData data;
  data.title = name;
  data.facts = {{"Command", "python " + name}, {"Run", "my runs/" + name}};
  data.gaps = {"Something is missing from " + name};
  analyze::Table overlap{
      "overlap", {{"operation", Texts{}}, {"ns", Integers{}}, {"corrected_ns", Integers{}}}, {}};
  for (size_t row = 0; row < rows; ++row) {
    std::get<Texts>(overlap.columns[0].cells).push_back(name + std::to_string(row));
    std::get<Integers>(overlap.columns[1].cells).push_back(static_cast<int64_t>(row) * 1000 + 7);
    std::get<Integers>(overlap.columns[2].cells).push_back(kMissing);
  }
  data.tables.push_back(std::move(overlap));
  data.tables.push_back({"functions", {{"name", Texts{"f"}}, {"self_ns", Integers{5}}}, {}});
  return data;
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(JsonSummary, HasTheLargestRowsWithExactCellsAndSaysHowManyThereAre) {
  const std::string text = RenderSummaryJson(Sample("train.py", 30));
  EXPECT_TRUE(Has(text,
                  "\"operations\": {\"table\": \"overlap\", \"rows_in_all\": 30, \"rows\": [\n"
                  "  {\"operation\": \"train.py29\", \"ns\": 29007, \"corrected_ns\": null},"))
      << text;
  EXPECT_TRUE(Has(text, "\"gaps\": {\"count\": 1, \"first\": [\"Something is missing"));
}

TEST(JsonSummary, AsksForTheEvidenceOfTheVerdictFirstAndOnce) {
  ReportData data = Sample("train.py", 3);
  data.tables.push_back({"verdict", {{"table", Texts{"functions", "kernels"}}}, {}});
  const std::string text = RenderSummaryJson(data);
  const size_t first = text.find("functions --sort=-self_ns");
  EXPECT_NE(text.find("the evidence of the verdict", first), std::string::npos) << text;
  EXPECT_EQ(text.find("functions --sort=-self_ns", first + 1), std::string::npos) << text;
}

TEST(JsonSummary, AsksOnlyForTablesThatHaveRowsInWordsThatAShellTakes) {
  const std::string text = RenderSummaryJson(Sample("train.py", 3));
  EXPECT_TRUE(
      Has(text, "\"crosscut table 'my runs/train.py' functions --sort=-self_ns --limit=20\""))
      << text;
  EXPECT_FALSE(Has(text, "table 'my runs/train.py' kernels"));
}

TEST(JsonSummary, StaysWithinItsBytesWhateverTheNames) {
  for (const std::string& name : {std::string(20'000, 'x'), std::string(5'000, '"'),
                                  std::string("\x1b\xff") + std::string(3'000, '\n')}) {
    ReportData data = Sample(name, 500);
    data.tables.push_back({"verdict", {{"headline", Texts{name}}, {"blame", Texts{name}}}, {}});
    const std::string text = RenderSummaryJson(data);
    EXPECT_LE(text.size(), kMaxSummary);
    EXPECT_TRUE(Has(text, "\"rows_in_all\": 500"));
    EXPECT_TRUE(Has(text, "\"crosscut report RUN\""));
  }
}

}  // namespace
}  // namespace crosscut::report
