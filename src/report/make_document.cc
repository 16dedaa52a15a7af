#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "src/analyze/figures.h"
#include "src/base/counted.h"
#include "src/base/shell_word.h"
#include "src/base/shown_text.h"
#include "src/report/cells.h"
#include "src/report/document.h"
#include "src/report/document_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"
#include "src/report/work.h"

namespace crosscut::report {
namespace {

// A sentence for each group of periodic slow steps. Returns the outliers that belong to none.
std::vector<size_t> AddPeriodic(const ReportData& data, const Cells& outliers, Section* section) {
  const Cells periodic(data.Find("periodic_steps"));
  std::vector<size_t> others;
  for (size_t row = 0; row < outliers.rows(); ++row) {
    bool told = false;
    for (size_t p = 0; p < periodic.rows(); ++p) {
      const int64_t since = outliers.Int("step", row) - periodic.Int("first_step", p);
      told |= outliers.Text("process", row) == periodic.Text("process", p) &&
              outliers.Text("kind", row) == periodic.Text("kind", p) && since >= 0 &&
              since % periodic.Int("period", p) == 0;
    }
    if (!told) others.push_back(row);
  }
  for (size_t row = 0; row < periodic.rows(); ++row) {
    const std::string work = base::ShownText(periodic.Text("work", row));
    section->after.push_back("Periodic: of every " + CountText(periodic.Int("period", row)) +
                             " steps one takes " + TimeText(periodic.Int("extra_ns", row)) +
                             " more (" + CountText(periodic.Int("count", row)) +
                             " of them, from step " +
                             std::to_string(periodic.Int("first_step", row)) + " on)" +
                             (work.empty() ? "." : ", the largest part of it in " + work + "."));
  }
  return others;
}

void AddSteps(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells summary(data.Find("step_summary"));
  const Cells outliers(data.Find("outliers"));
  if (summary.rows() == 0) return;
  Section section;
  section.heading = "Steps";
  section.before = {
      "p10 and p90: a tenth of the steps were shorter, a tenth longer. Control steps ran with the "
      "probes off and are not in these times, nor are steps that the budget left out."};
  section.grid.heads = {{"process", false}, {"kind", false}, {"steps"}, {"control steps"},
                        {"median"},         {"p10"},         {"p90"},   {"slowest"}};
  for (size_t row = 0; row < summary.rows(); ++row) {
    section.grid.rows.push_back(
        {ProcessName(data, summary.Text("process", row)),
         base::ShownText(summary.Text("kind", row)), CountText(summary.Int("steps", row)),
         CountText(summary.Int("control_steps", row)), TimeText(summary.Int("median_ns", row)),
         TimeText(summary.Int("p10_ns", row)), TimeText(summary.Int("p90_ns", row)),
         TimeText(summary.Int("max_ns", row))});
  }
  const std::vector<size_t> unusual = AddPeriodic(data, outliers, &section);
  for (size_t i = 0; i < std::min(unusual.size(), options.outliers); ++i) {
    const size_t row = unusual[i];
    std::string line = "Unusual: step " + std::to_string(outliers.Int("step", row)) + " took " +
                       TimeText(outliers.Int("wall_ns", row)) + " (median " +
                       TimeText(outliers.Int("median_ns", row)) + ")";
    const std::string layers =
        LayersText(outliers.Text("layers", row), outliers.Int("device", row) == 1);
    const int64_t grew = outliers.Int("grew_ns", row);
    if (grew > 0) line += ", " + TimeText(grew) + " more than usual in " + layers;
    section.after.push_back(line + ".");
  }
  if (unusual.size() > options.outliers) {
    section.after.push_back("More unusual steps: table outliers.");
  }
  out->sections.push_back(std::move(section));
}

// Whether some steps were recorded with less than everything, control steps aside.
bool HasMixedSteps(const ReportData& data) {
  const Cells kinds(data.Find("step_kinds"));
  for (size_t row = 0; row < kinds.rows(); ++row) {
    const int64_t less = kinds.Int("marks_steps", row) + kinds.Int("boundary_steps", row) +
                         kinds.Int("operator_steps", row);
    if (less > 0) return true;
  }
  return false;
}

// Rows of work, the largest first by `size`: waiting and what is ours are left out.
template <class SizeOf>
std::vector<size_t> LargestWork(const Cells& rows, SizeOf size) {
  std::vector<size_t> order;
  for (size_t row = 0; row < rows.rows(); ++row) {
    const std::string_view layer = rows.Text("layer", row);
    if (layer != "idle" && layer != "overhead") order.push_back(row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return size(a) > size(b); });
  return order;
}

// Where most steps show no operators, sums over the run say nothing: what a step holds does.
void AddStepOperators(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells rows(data.Find("step_operators"));
  const std::vector<size_t> order = LargestWork(rows, [&](size_t row) {
    return rows.Int("self_per_step_ns", row) * rows.Int("of_steps", row);
  });
  Section section;
  section.heading = "What a step is made of";
  section.before = {
      "Per step, from the steps that were recorded at a level which shows the name. Self time "
      "leaves out what a call called in turn. The interval is where a complete recording's time "
      "would lie."};
  section.grid.heads = {{"name", false}, {"layer", false},   {"steps", false},
                        {"from"},        {"calls"},          {"self time"},
                        {"time"},        {"95 %: at least"}, {"at most"}};
  const bool several = std::any_of(order.begin(), order.end(), [&](size_t row) {
    return rows.Text("process", row) != rows.Text("process", order[0]);
  });
  if (several) section.grid.heads.insert(section.grid.heads.begin(), {"process", false});
  for (size_t i = 0; i < std::min(order.size(), options.functions); ++i) {
    const size_t row = order[i];
    char calls[32];
    snprintf(calls, sizeof calls, "%.3g", rows.Real("count_per_step", row));
    section.grid.rows.push_back(
        {base::ShownText(rows.Text("name", row)), std::string(rows.Text("layer", row)),
         base::ShownText(rows.Text("kind", row)), CountText(rows.Int("steps", row)), calls,
         TimeText(rows.Int("self_per_step_ns", row)), TimeText(rows.Int("per_step_ns", row)),
         TimeText(rows.Int("low_ns", row)), TimeText(rows.Int("high_ns", row))});
    if (several) {
      auto& cells = section.grid.rows.back();
      cells.insert(cells.begin(), ProcessName(data, rows.Text("process", row)));
    }
  }
  if (section.grid.rows.empty()) return;
  section.after.emplace_back("Every name and kind of step: table step_operators.");
  out->sections.push_back(std::move(section));
}

void AddFunctions(const ReportData& data, const DocumentOptions& options, Document* out) {
  if (HasMixedSteps(data)) return AddStepOperators(data, options, out);
  const Cells functions(data.Find("functions"));
  if (functions.rows() == 0) return;
  const std::vector<size_t> order =
      LargestWork(functions, [&](size_t row) { return functions.Int("self_ns", row); });
  Section section;
  section.heading = "What worked longest, in all processes";
  section.before = {"Self time leaves out what a call called in turn. Waiting is not listed."};
  section.grid.heads = {{"name", false}, {"layer", false}, {"calls"},   {"self time"},
                        {"total time"},  {"median call"},  {"p99 call"}};
  for (size_t i = 0; i < std::min(order.size(), options.functions); ++i) {
    const size_t row = order[i];
    section.grid.rows.push_back(
        {base::ShownText(functions.Text("name", row)), std::string(functions.Text("layer", row)),
         CountText(functions.Int("count", row)), TimeText(functions.Int("self_ns", row)),
         TimeText(functions.Int("total_ns", row)), TimeText(functions.Int("p50_ns", row)),
         TimeText(functions.Int("p99_ns", row))});
  }
  out->sections.push_back(std::move(section));
}

// ", of a budget of 2.00 %", or nothing.
std::string BudgetText(const Cells& check, size_t row) {
  const double budget = check.Real("budget", row);
  return std::isfinite(budget) ? ", of a budget of " + FormatPercent(budget, 1) : "";
}

// "about 0.79 % of a step (95 %: 0.61 % to 0.98 %)". Where zero is among what it may be, it is not
// known.
std::string CostWords(double cost, double low, double high, const char* of) {
  if (low <= 0) {
    return "is not known: between 0 % and " + FormatPercent(std::max(0.0, high), 1) + " of " + of +
           " (95 %)";
  }
  return "about " + FormatPercent(cost, 1) + " of " + of + " (95 %: " + FormatPercent(low, 1) +
         " to " + FormatPercent(high, 1) + ")";
}

// The row of overhead_levels for the step plan as a whole, where it has several levels; else none.
std::optional<size_t> MeanCostRow(const ReportData& data, std::string_view process) {
  const Cells levels(data.Find("overhead_levels"));
  for (size_t row = 0; row < levels.rows() && HasMixedSteps(data); ++row) {
    const bool whole = levels.Text("level", row) == "all";
    if (whole && levels.Text("process", row) == process) return row;
  }
  return std::nullopt;
}

// What is said of a process whose steps were compared with control steps.
std::string CostText(const ReportData& data, const Cells& check, size_t row) {
  const double cost = check.Real("cost", row);
  if (check.Int("checked", row) != 1 || !std::isfinite(cost)) {
    return CleanText(check.Text("message", row)) +
           "; what is subtracted was calibrated when recording started.";
  }
  if (const auto mean = MeanCostRow(data, check.Text("process", row))) {
    const Cells levels(data.Find("overhead_levels"));
    return "recording cost " +
           CostWords(levels.Real("inflation", *mean) - 1, levels.Real("inflation_low", *mean) - 1,
                     levels.Real("inflation_high", *mean) - 1, "all steps") +
           BudgetText(check, row) + ".";
  }
  return "recording cost " +
         CostWords(cost, check.Real("cost_low", row), check.Real("cost_high", row), "a step") +
         BudgetText(check, row) + ".";
}

void AddOverhead(const ReportData& data, Document* out) {
  const Cells check(data.Find("overhead_check")), overhead(data.Find("overhead"));
  if (check.rows() == 0 && overhead.rows() == 0) return;
  Section section;
  section.heading = "What recording itself cost";
  std::vector<std::pair<std::string, std::vector<std::string>>> costs;  // and whose they are
  std::map<std::string, size_t> places;
  for (size_t row = 0; row < check.rows(); ++row) {
    if (check.Int("control_steps", row) <= 0) continue;
    const std::string text = CostText(data, check, row);
    const auto [at, fresh] = places.emplace(text, costs.size());
    if (fresh) costs.push_back({text, {}});
    costs[at->second].second.push_back(ProcessName(data, check.Text("process", row)));
  }
  for (const auto& [text, names] : costs) {
    const std::string who = names.size() == 1
                                ? names[0]
                                : std::to_string(names.size()) + " processes, such as " + names[0];
    section.before.push_back(who + ": " + text);
  }
  int64_t subtracted = 0;
  for (size_t row = 0; row < overhead.rows(); ++row) {
    const int64_t ns = overhead.Int("subtracted_ns", row);
    if (ns != analyze::kMissing) subtracted += ns;
  }
  if (section.before.empty() && subtracted == 0) return;
  section.before.push_back(FormatNs(subtracted) +
                           " are subtracted in all, and \"corrected\" times lack them; by kind of "
                           "event: table overhead.");
  out->sections.push_back(std::move(section));
}

// "pytorch 2.13.0+cpu"; what is not simply on gets its state and message behind it.
std::string SourceText(const Cells& sources, size_t row) {
  std::string out = base::ShownText(sources.Text("name", row));
  const std::string version = base::ShownText(sources.Text("version", row));
  const std::string state = base::ShownText(sources.Text("state", row));
  const std::string message = CleanText(sources.Text("message", row));
  if (!version.empty()) out += " " + version;
  std::string how = state == "on" ? "" : state;
  if (!message.empty()) how += (how.empty() ? "" : ": ") + message;
  return how.empty() ? out : out + " (" + how + ")";
}

void AddSources(const ReportData& data, Document* out) {
  const Cells sources(data.Find("sources"));
  std::string text;
  for (size_t row = 0; row < sources.rows(); ++row) {
    if (sources.Text("state", row) == "off") continue;  // the table has it
    text += (text.empty() ? "" : ", ") + SourceText(sources, row);
  }
  if (!text.empty()) out->facts.emplace_back("Sources", text);
}

// "0.85 processors, 388 MiB": what a process used on the mean, and at most.
struct Use {
  int64_t cpu_ns = 0, ns = 0, bytes = analyze::kMissing;
  bool peak = false;  // there were no more between two looks
  double processors() const { return static_cast<double>(cpu_ns) / static_cast<double>(ns); }
  std::string text() const {
    char words[64];
    snprintf(words, sizeof words, "%.3g processors", processors());
    if (bytes == analyze::kMissing) return words;
    return words + (", " + analyze::BytesText(bytes));
  }
};

// Of the processes that used most.
void AddUse(const ReportData& data, Document* out) {
  constexpr size_t kMost = 3;
  const Cells rows(data.Find("utilization"));
  std::map<std::string_view, Use> by_process;
  for (size_t row = 0; row < rows.rows(); ++row) {
    Use& use = by_process[rows.Text("process", row)];
    use.cpu_ns += rows.Int("cpu_ns", row);
    use.ns += rows.Int("end_ns", row) - rows.Int("begin_ns", row);
    use.bytes = std::max({use.bytes, rows.Int("resident_bytes", row), rows.Int("peak_bytes", row)});
    use.peak = use.peak || rows.Int("peak_bytes", row) != analyze::kMissing;
  }
  std::erase_if(by_process, [](const auto& one) { return one.second.ns <= 0; });
  if (by_process.empty()) return;
  std::vector<std::pair<std::string_view, Use>> all(by_process.begin(), by_process.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.cpu_ns > b.second.cpu_ns; });
  const size_t processes = std::max(Cells(data.Find("processes")).rows(), all.size());
  const size_t told = std::min(all.size(), kMost);
  std::string text;
  bool peaks = true;
  for (size_t i = 0; i < told; ++i) {
    peaks = peaks && (all[i].second.peak || all[i].second.bytes == analyze::kMissing);
    const std::string who = processes > 1 ? ProcessName(data, all[i].first) + " " : "";
    text += (text.empty() ? "" : "; ") + who + all[i].second.text();
  }
  if (processes > told) {
    text += "; " + base::Counted(processes - told, "more {process|processes}");
  }
  out->facts.emplace_back("Used", text + " (on the mean, and resident at most" +
                                      (peaks ? ")" : " when looked at, twice a second)"));
}

// What memory was not given back, or not given.
void AddMemory(const ReportData& data, Document* out) {
  constexpr size_t kMost = 5;
  Section section;
  section.heading = "Memory";
  size_t more = 0;
  for (const char* name : {"memory_failures", "memory_leaks", "memory_growth"}) {
    const Cells rows(data.Find(name));
    for (size_t row = 0; row < rows.rows(); ++row) {
      const std::string finding = base::ShownText(rows.Text("finding", row));
      if (finding.empty()) continue;
      if (section.before.size() == kMost) {
        ++more;
      } else {
        section.before.push_back(ProcessName(data, rows.Text("process", row)) + ": " + finding);
      }
    }
  }
  if (section.before.empty()) return;
  if (more > 0)
    section.after.push_back(FormatCount(more) +
                            " more: tables memory_failures, memory_leaks and memory_growth.");
  out->sections.push_back(std::move(section));
}

void AddNext(const ReportData& data, Document* out) {
  const std::string run = base::ShellWord(CleanText(data.Run()));
  out->next = {
      {"crosscut open " + run, "with a timeline"},
      {"crosscut table " + run, "the tables behind it"},
      {"crosscut export " + run + " -o trace.json.gz", "for Perfetto, HTA"},
  };
}

}  // namespace

std::span<const std::string_view> DocumentTables() {
  static constexpr std::string_view kTables[] = {
      "verdict",         "processes",       "window_parts", "part_work",      "step_summary",
      "step_kinds",      "periodic_steps",  "outliers",     "step_operators", "functions",
      "overhead_check",  "overhead_levels", "overhead",     "sources",        "memory_leaks",
      "memory_failures", "memory_growth",   "utilization",  "step_changes",   "requests",
      "beside_steps"};
  return kTables;
}

Document MakeDocument(const ReportData& data, const DocumentOptions& options) {
  Document out;
  out.title = base::ShownText(data.title);
  for (const auto& [key, value] : data.facts) {
    out.facts.emplace_back(CleanText(key), CleanText(value, options.sentence_bytes));
  }
  for (const std::string& gap : data.gaps)
    out.gaps.push_back(CleanText(gap, options.sentence_bytes));
  AddVerdict(data, &out);
  AddTime(data, options, &out);
  AddSteps(data, options, &out);
  AddFunctions(data, options, &out);
  AddMemory(data, &out);
  AddOverhead(data, &out);
  AddUse(data, &out);
  AddSources(data, &out);
  AddNext(data, &out);
  return out;
}

}  // namespace crosscut::report
