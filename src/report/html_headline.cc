#include "src/report/html_headline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Table;
using analyze::Texts;

template <class Cells>
const Cells* Find(const Table* table, std::string_view column) {
  const Column* found = table == nullptr ? nullptr : table->Find(column);
  return found == nullptr ? nullptr : std::get_if<Cells>(&found->cells);
}

std::string Strong(const std::string& text) { return "<b>" + EscapeHtml(text) + "</b>"; }
std::string Number(const std::string& text) {
  return "<b class=\"n\">" + EscapeHtml(text) + "</b>";
}

// The row with the largest value of those for which `counts` holds.
template <class Counts>
std::optional<size_t> LargestRow(const Integers& values, Counts counts) {
  std::optional<size_t> best;
  for (size_t row = 0; row < values.size(); ++row) {
    if (!counts(row) || values[row] == analyze::kMissing) continue;
    if (!best || values[row] > values[*best]) best = row;
  }
  return best;
}

struct MainProcess {
  std::string key;
  int64_t wall_ns = 0;
  size_t processes = 0;
};

// The process that lived longest; the first of equals, which is the one that began it all.
std::optional<MainProcess> FindMain(const ReportData& data) {
  const Table* table = data.Find("processes");
  const auto* keys = Find<Texts>(table, "process");
  const auto* walls = Find<Integers>(table, "wall_ns");
  if (keys == nullptr || walls == nullptr) return std::nullopt;
  const auto row = LargestRow(*walls, [](size_t) { return true; });
  if (!row) return std::nullopt;
  return MainProcess{(*keys)[*row], (*walls)[*row], keys->size()};
}

std::string LargestLayers(const ReportData& data, const std::string& process,
                          const std::string& operation) {
  const Table* table = data.Find("overlap");
  const auto* processes = Find<Texts>(table, "process");
  const auto* operations = Find<Texts>(table, "operation");
  const auto* layers = Find<Texts>(table, "layers");
  const auto* ns = Find<Integers>(table, "ns");
  if (processes == nullptr || operations == nullptr || layers == nullptr || ns == nullptr) {
    return "";
  }
  const auto row = LargestRow(
      *ns, [&](size_t r) { return (*processes)[r] == process && (*operations)[r] == operation; });
  return row ? (*layers)[*row] : "";
}

std::string WallSentence(const ReportData& data, const MainProcess& main) {
  std::string out = (data.title.empty() ? Strong(main.key) : Strong(data.title)) + " ran for " +
                    Number(FormatNs(main.wall_ns));
  if (main.processes > 1) {
    out += " in " + FormatCount(static_cast<int64_t>(main.processes)) + " processes";
  }
  return out + ". ";
}

std::string ShareSentence(const ReportData& data, const MainProcess& main) {
  const Table* table = data.Find("operations");
  const auto* processes = Find<Texts>(table, "process");
  const auto* operations = Find<Texts>(table, "operation");
  const auto* walls = Find<Integers>(table, "wall_ns");
  if (processes == nullptr || operations == nullptr || walls == nullptr) return "";
  const auto row = LargestRow(
      *walls, [&](size_t r) { return (*processes)[r] == main.key && !(*operations)[r].empty(); });
  if (!row || (*walls)[*row] <= 0) return "";
  const std::string& operation = (*operations)[*row];
  std::string out = "The largest operation, " + Strong(operation) + ", took " +
                    Number(FormatPercent(static_cast<double>((*walls)[*row]),
                                         static_cast<double>(main.wall_ns), true));
  const std::string layers = LargestLayers(data, main.key, operation);
  if (!layers.empty()) {
    std::string words;
    for (const char c : layers) words += c == '+' ? std::string(" with ") : std::string(1, c);
    out += ", mostly in " + Strong(words);
  }
  return out + ". ";
}

// Measured against control steps: our part of a step, with half the width of its interval.
std::string CheckedCost(const ReportData& data, const MainProcess& main) {
  const Table* table = data.Find("overhead_check");
  const auto* processes = Find<Texts>(table, "process");
  const auto* cost = Find<Reals>(table, "cost");
  const auto* low = Find<Reals>(table, "cost_low");
  const auto* high = Find<Reals>(table, "cost_high");
  if (processes == nullptr || cost == nullptr || low == nullptr || high == nullptr) return "";
  for (size_t row = 0; row < cost->size(); ++row) {
    if ((*processes)[row] != main.key || !std::isfinite((*cost)[row])) continue;
    return "Crosscut itself took " +
           Number(FormatPercent((*cost)[row], 1, true) + " ± " +
                  FormatPercent(((*high)[row] - (*low)[row]) / 2, 1, true)) +
           " of each step, measured against control steps; <i>corrected</i> times are without "
           "that.";
  }
  return "";
}

// From calibration alone: what the corrected time of the process lacks.
std::string EstimatedCost(const ReportData& data, const MainProcess& main) {
  const Table* table = data.Find("processes");
  const auto* processes = Find<Texts>(table, "process");
  const auto* walls = Find<Integers>(table, "wall_ns");
  const auto* corrected = Find<Integers>(table, "corrected_ns");
  if (processes == nullptr || walls == nullptr || corrected == nullptr) return "";
  for (size_t row = 0; row < walls->size(); ++row) {
    if ((*processes)[row] != main.key || (*corrected)[row] == analyze::kMissing) continue;
    const int64_t cost = (*walls)[row] - (*corrected)[row];
    const double wall = static_cast<double>((*walls)[row]);
    const bool tiny = static_cast<double>(cost) < 0.0005 * wall;
    return "Crosscut itself cost " + std::string(tiny ? "less than " : "about ") +
           Number(tiny ? "0.1 %" : FormatPercent(static_cast<double>(cost), wall, true)) +
           " of it, estimated and not checked; <i>corrected</i> times are without that.";
  }
  return "";
}

}  // namespace

std::string HeadlineHtml(const ReportData& data) {
  const std::optional<MainProcess> main = FindMain(data);
  if (!main) return "<p class=\"headline\">" + Strong(data.title) + "</p>";
  std::string cost = CheckedCost(data, *main);
  if (cost.empty()) cost = EstimatedCost(data, *main);
  return "<p class=\"headline\">" + WallSentence(data, *main) + ShareSentence(data, *main) + cost +
         "</p>";
}

}  // namespace crosscut::report
