#include <algorithm>
#include <numeric>
#include <vector>

#include "src/analyze/tables.h"
#include "src/base/lists.h"
#include "src/base/shell_word.h"
#include "src/report/cells.h"
#include "src/report/shown_text.h"
#include "src/report/table_text.h"
#include "src/report/views.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Table;
using analyze::Texts;

// What a summary says, in this order. Of tables for the same thing the first that has rows is
// taken.
struct Part {
  const char* key;
  std::vector<std::string_view> tables;
};
const std::vector<Part>& PartsOfSummary() {
  static const std::vector<Part> parts = {
      {"processes", {"processes"}},
      {"window", {"window_parts"}},
      {"verdict", {"verdict"}},
      {"steps", {"step_summary"}},
      {"requests", {"requests"}},
      {"causes", {"step_causes"}},
      {"operations", {"step_overlap", "overlap"}},
      {"findings", {"findings"}},
  };
  return parts;
}

// What to look at next, where there are rows.
struct Question {
  std::string_view table;
  const char* answers;
};
constexpr Question kQuestions[] = {
    {"part_work", "what each part of the window was spent on, by operation and line"},
    {"step_operators", "which operators and functions a step is made of"},
    {"functions", "which functions took the time, over the whole run"},
    {"outliers", "which steps were slow, and in what"},
    {"kernels", "which device work took the time"},
    {"samples", "which Python lines and native functions ran"},
    {"drops", "what was lost while recording"},
};

// How much a summary may hold; the first that fits is taken.
struct Size {
  size_t rows, text_bytes;
};
constexpr Size kSizes[] = {{8, 300}, {8, 160}, {5, 160}, {4, 100}, {3, 80}, {2, 60}, {1, 40}};
// Its sentences are what the rest is evidence for.
Size SizeOfVerdict(const Size& size) {
  return {std::min<size_t>(size.rows, 3), std::max<size_t>(size.text_bytes, 240)};
}
constexpr size_t kLongestPath = 200;  // in a command; else it says RUN

std::string Text(std::string_view text, const Size& size) {
  return JsonText(CleanText(text, size.text_bytes));
}

std::string CellJson(const Column& column, size_t row, const Size& size) {
  const auto* texts = std::get_if<Texts>(&column.cells);
  return texts != nullptr ? Text((*texts)[row], size) : JsonNumber(column, row);
}

// The column whose largest cells matter most; null: the table's own order does.
const Column* LargestBy(const Table& table) {
  const analyze::TableEntry* entry = analyze::FindTable(table.name);
  const bool named = entry != nullptr && entry->largest_by != nullptr;
  return table.Find(named ? entry->largest_by : "ns");
}

std::vector<size_t> Order(const Table& table) {
  std::vector<size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), size_t{0});
  const Column* by = LargestBy(table);
  if (const auto* amounts = by == nullptr ? nullptr : std::get_if<Integers>(&by->cells)) {
    std::stable_sort(rows.begin(), rows.end(),
                     [amounts](size_t a, size_t b) { return (*amounts)[a] > (*amounts)[b]; });
  }
  return rows;
}

std::string TableJson(const Table& table, const Size& size) {
  std::string out = "{\"table\": " + JsonText(table.name) +
                    ", \"rows_in_all\": " + std::to_string(table.rows()) + ", \"rows\": [";
  std::vector<size_t> rows = Order(table);
  if (rows.size() > size.rows) rows.resize(size.rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "\n  {" : ",\n  {";
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      out += (c == 0 ? "" : ", ") + JsonText(column.name) + ": " + CellJson(column, rows[i], size);
    }
    out += "}";
  }
  return out + "]}";
}

const Table* FirstWithRows(const ReportData& data, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    const Table* table = data.Find(name);
    if (table != nullptr && table->rows() > 0) return table;
  }
  return nullptr;
}

// The run as a word of a command.
std::string RunWord(const ReportData& data) {
  const std::string run = data.Run();
  return run.size() <= kLongestPath ? base::ShellWord(run) : "RUN";
}

// Commands, and what each answers: the evidence first, then what else has rows.
std::vector<std::pair<std::string, std::string>> Questions(const ReportData& data) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string run = RunWord(data);
  const auto ask = [&](const Table& table, const std::string& answers) {
    const Column* by = LargestBy(table);
    out.emplace_back("crosscut table " + run + " " + table.name +
                         (by == nullptr ? "" : " --sort=-" + by->name) + " --limit=20",
                     answers);
  };
  const Table* evidence = data.Find(Cells(data.Find("verdict")).Text("table", 0));
  if (evidence != nullptr) ask(*evidence, "the evidence of the verdict");
  for (const Question& question : kQuestions) {
    const Table* table = data.Find(question.table);
    if (table != nullptr && table != evidence && table->rows() > 0) ask(*table, question.answers);
  }
  out.emplace_back("crosscut report " + run, "all of this in words, with every gap");
  out.emplace_back("crosscut table", "which tables there are");
  return out;
}

std::string Render(const ReportData& data, const Size& size) {
  std::string out = "{\"title\": " + Text(data.title, size) + ",\n\"facts\": {" +
                    base::Joined(data.facts, ", ",
                                 [&](const auto& fact) {
                                   return Text(fact.first, size) + ": " + Text(fact.second, size);
                                 }) +
                    "}";
  for (const Part& part : PartsOfSummary()) {
    const Table* table = FirstWithRows(data, part.tables);
    if (table == nullptr) continue;
    out += ",\n" + JsonText(part.key) + ": " +
           TableJson(*table, table->name == "verdict" ? SizeOfVerdict(size) : size);
  }
  const std::span<const std::string> gaps(data.gaps.data(), std::min(data.gaps.size(), size.rows));
  out += ",\n\"gaps\": {\"count\": " + std::to_string(data.gaps.size()) + ", \"first\": [" +
         base::Joined(gaps, ", ", [&](const std::string& gap) { return Text(gap, size); }) +
         "]},\n\"ask_next\": [\n  ";
  return out +
         base::Joined(Questions(data), ",\n  ",
                      [](const auto& question) {
                        return "{\"command\": " + JsonText(question.first) +
                               ", \"answers\": " + JsonText(question.second) + "}";
                      }) +
         "]}\n";
}

}  // namespace

std::span<const std::string_view> SummaryTables() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Part& part : PartsOfSummary()) {
      all.insert(all.end(), part.tables.begin(), part.tables.end());
    }
    for (const Question& question : kQuestions) all.push_back(question.table);
    return all;
  }();
  return names;
}

std::string RenderSummaryJson(const ReportData& data) {
  std::string out;
  for (const Size& size : kSizes) {
    out = Render(data, size);
    if (out.size() <= kMaxSummary) break;
  }
  return out;
}

}  // namespace crosscut::report
