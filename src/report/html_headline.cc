#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/report/cells.h"
#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"
#include "src/report/work.h"

namespace crosscut::report {
namespace {

std::string Strong(const std::string& text) { return "<b>" + EscapeHtml(text) + "</b>"; }
std::string Number(const std::string& text) {
  return "<b class=\"n\">" + EscapeHtml(text) + "</b>";
}

struct MainProcess {
  std::string key;
  int64_t wall_ns = 0;
  size_t processes = 0;
};

// The process that the verdict speaks of first; without a verdict the one that lived longest, the
// first of equals.
std::optional<MainProcess> FindMain(const ReportData& data) {
  const Cells processes(data.Find("processes")), verdict(data.Find("verdict"));
  std::optional<MainProcess> longest;
  for (size_t row = 0; row < processes.rows(); ++row) {
    const std::string key(processes.Text("process", row));
    const int64_t wall_ns = processes.Int("wall_ns", row);
    if (wall_ns == analyze::kMissing) continue;
    const MainProcess process{key, wall_ns, processes.rows()};
    if (verdict.rows() > 0 && verdict.Text("process", 0) == key) return process;
    if (!longest || wall_ns > longest->wall_ns) longest = process;
  }
  return longest;
}

std::string WallSentence(const ReportData& data, const MainProcess& main) {
  std::string out = (data.title.empty() ? Strong(main.key) : Strong(data.title)) + " ran for " +
                    Number(FormatNs(main.wall_ns));
  if (main.processes > 1) {
    out += " in " + FormatCount(main.processes) + " processes";
  }
  return out + ". ";
}

// "Its 408 steps took 30.18 s; the largest part, backward, is 56 % of that, ..."
std::string ShareSentence(const ReportData& data, const MainProcess& main) {
  const ProcessWork of = WorkOf(data, main.key);
  const Work* largest = nullptr;
  for (const Work& work : of.work) {
    if (largest == nullptr || work.wall_ns > largest->wall_ns) largest = &work;
  }
  if (largest == nullptr || largest->wall_ns <= 0) return "";
  std::string out = of.part == "steps"
                        ? "Its steps took " + Number(FormatNs(of.wall_ns)) + ", of which "
                    : of.part == "requests"
                        ? "It handled requests for " + Number(FormatNs(of.wall_ns)) + ", of which "
                        : "Of that, ";
  out += Strong(largest->name) + " took " +
         Number(FormatPercent(static_cast<double>(largest->wall_ns),
                              static_cast<double>(of.wall_ns), true));
  std::pair<int64_t, std::string> most;
  for (const auto& [layers, ns] : largest->layers) most = std::max(most, {ns, layers});
  std::string words;
  for (const char c : most.second) words += c == '+' ? std::string(" with ") : std::string(1, c);
  return out + (most.second == "unknown" ? "" : ", mostly in " + Strong(words)) + ". ";
}

// Measured against control steps: our part of a step, with half the width of its interval.
std::string CheckedCost(const ReportData& data, const MainProcess& main) {
  const Cells check(data.Find("overhead_check"));
  for (size_t row = 0; row < check.rows(); ++row) {
    const double cost = check.Real("cost", row);
    if (check.Text("process", row) != main.key || !std::isfinite(cost)) continue;
    const double wide = check.Real("cost_high", row) - check.Real("cost_low", row);
    return "Crosscut itself took " +
           Number(FormatPercent(cost, 1, true) + " ± " + FormatPercent(wide / 2, 1, true)) +
           " of each step, measured against control steps; <i>corrected</i> times are without "
           "that.";
  }
  return "";
}

// From calibration alone: what the corrected time of the process lacks.
std::string EstimatedCost(const ReportData& data, const MainProcess& main) {
  const Cells processes(data.Find("processes"));
  for (size_t row = 0; row < processes.rows(); ++row) {
    const int64_t corrected_ns = processes.Int("corrected_ns", row);
    if (processes.Text("process", row) != main.key || corrected_ns == analyze::kMissing) continue;
    const int64_t cost = processes.Int("wall_ns", row) - corrected_ns;
    const auto wall = static_cast<double>(processes.Int("wall_ns", row));
    const bool tiny = static_cast<double>(cost) < 0.0005 * wall;
    return "Crosscut itself cost " + std::string(tiny ? "less than " : "about ") +
           Number(tiny ? "0.1 %" : FormatPercent(static_cast<double>(cost), wall, true)) +
           " of the run, estimated and not checked; <i>corrected</i> times are without that.";
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
