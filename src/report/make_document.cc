#include "src/report/make_document.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "src/base/shell_word.h"
#include "src/base/shown_text.h"
#include "src/report/cells.h"
#include "src/report/document_time.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

std::string Plural(int64_t count, const char* word) {
  return FormatCount(count) + " " + word + (count == 1 ? "" : "s");
}

void AddSteps(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells summary(data.Find("step_summary"));
  const Cells outliers(data.Find("outliers"));
  if (summary.rows() == 0) return;
  Section section;
  section.heading = "Steps";
  section.before = {
      "p10 and p90: a tenth of the steps were shorter, a tenth longer. Control steps ran with the "
      "probes off and are not in these times."};
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
  for (size_t row = 0; row < std::min(outliers.rows(), options.outliers); ++row) {
    std::string line = "Unusual: step " + std::to_string(outliers.Int("step", row)) + " took " +
                       TimeText(outliers.Int("wall_ns", row)) + " (median " +
                       TimeText(outliers.Int("median_ns", row)) + ")";
    const std::string layers =
        LayersText(outliers.Text("layers", row), outliers.Int("device", row) == 1);
    const int64_t grew = outliers.Int("grew_ns", row);
    if (grew > 0) line += ", " + TimeText(grew) + " more than usual in " + layers;
    section.after.push_back(line + ".");
  }
  if (outliers.rows() > options.outliers) {
    section.after.push_back("More unusual steps: table outliers.");
  }
  out->sections.push_back(std::move(section));
}

// Whether some steps were recorded with less than everything, control steps aside.
bool HasMixedSteps(const ReportData& data) {
  const Cells kinds(data.Find("step_kinds"));
  for (size_t row = 0; row < kinds.rows(); ++row) {
    if (kinds.Int("boundary_steps", row) + kinds.Int("operator_steps", row) > 0) return true;
  }
  return false;
}

// Where most steps show no operators, sums over the run say nothing: what a step holds does.
void AddStepOperators(const ReportData& data, const DocumentOptions& options, Document* out) {
  const analyze::Table* table = data.Find("step_operators");
  const Cells rows(table);
  std::vector<size_t> order;
  for (size_t row = 0; row < rows.rows(); ++row) {
    const std::string_view layer = rows.Text("layer", row);
    if (layer != "idle" && layer != "overhead") order.push_back(row);
  }
  const auto self = [&](size_t row) {
    return rows.Int("self_per_step_ns", row) * rows.Int("of_steps", row);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return self(a) > self(b); });
  Section section;
  section.heading = "What a step is made of";
  section.before = {
      "Per step, from the steps that were recorded at a level which shows the name. Self time "
      "leaves out what a call called in turn. The interval is where a complete recording's time "
      "would lie."};
  section.grid.heads = {{"name", false}, {"layer", false},   {"steps", false},
                        {"from"},        {"calls"},          {"self time"},
                        {"time"},        {"95 %: at least"}, {"at most"}};
  for (size_t i = 0; i < std::min(order.size(), options.functions); ++i) {
    const size_t row = order[i];
    char calls[32];
    snprintf(calls, sizeof calls, "%.3g", rows.Real("count_per_step", row));
    section.grid.rows.push_back(
        {base::ShownText(rows.Text("name", row)), std::string(rows.Text("layer", row)),
         base::ShownText(rows.Text("kind", row)), CountText(rows.Int("steps", row)), calls,
         TimeText(rows.Int("self_per_step_ns", row)), TimeText(rows.Int("per_step_ns", row)),
         TimeText(rows.Int("low_ns", row)), TimeText(rows.Int("high_ns", row))});
  }
  if (section.grid.rows.empty()) return;
  section.after.emplace_back("Every name and kind of step: table step_operators.");
  out->sections.push_back(std::move(section));
}

void AddFunctions(const ReportData& data, const DocumentOptions& options, Document* out) {
  if (HasMixedSteps(data)) return AddStepOperators(data, options, out);
  const Cells functions(data.Find("functions"));
  if (functions.rows() == 0) return;
  std::vector<size_t> order;
  for (size_t row = 0; row < functions.rows(); ++row) {
    const std::string_view layer = functions.Text("layer", row);
    if (layer != "idle" && layer != "overhead") order.push_back(row);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return functions.Int("self_ns", a) > functions.Int("self_ns", b);
  });
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

// Where threads were when somebody looked, without those that waited.
void AddSamples(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells samples(data.Find("samples"));
  Section section;
  section.heading = "What threads were seen doing";
  section.before = {"From samples (--python=samples), without those of threads that waited."};
  section.grid.heads = {{"Python line", false},
                        {"native code", false},
                        {"operation", false},
                        {"in span", false},
                        {"samples"},
                        {"time"}};
  for (size_t row = 0; row < samples.rows(); ++row) {
    if (section.grid.rows.size() == options.functions) break;
    if (!samples.Text("waits_for", row).empty()) continue;
    const std::string library(samples.Text("library", row));
    const std::string function(samples.Text("function", row));
    section.grid.rows.push_back({base::ShownText(samples.Text("line", row)),
                                 base::ShownText(function.empty() ? library : function),
                                 base::ShownText(samples.Text("operation", row)),
                                 base::ShownText(samples.Text("span", row)),
                                 CountText(samples.Int("count", row)),
                                 TimeText(samples.Int("ns", row))});
  }
  if (section.grid.rows.empty()) return;
  section.after.emplace_back("All of them, waits too: table samples.");
  out->sections.push_back(std::move(section));
}

// ", of a budget of 2.00 %; 812 of 2,000 compared steps were control steps", or nothing.
std::string BudgetText(const ReportData& data, std::string_view process) {
  const Cells check(data.Find("overhead_check"));
  for (size_t row = 0; row < check.rows(); ++row) {
    const double budget = check.Real("budget", row);
    if (check.Text("process", row) != process || !std::isfinite(budget)) continue;
    const int64_t control = check.Int("control_steps", row);
    return ", of a budget of " + FormatPercent(budget, 1) + "; " + CountText(control) + " of " +
           CountText(control + check.Int("profiled_steps", row)) +
           " compared steps were control steps";
  }
  return "";
}

// What the step plan as a whole cost, where it has several levels.
void AddMeanInflation(const ReportData& data, std::string_view process, Section& section) {
  const Cells levels(data.Find("overhead_levels"));
  if (!HasMixedSteps(data)) return;
  for (size_t row = 0; row < levels.rows(); ++row) {
    if (levels.Text("process", row) != process || levels.Text("level", row) != "all") continue;
    section.before.push_back(ProcessName(data, process) + ": over all steps, recording cost " +
                             FormatPercent(levels.Real("inflation", row) - 1, 1) + " (95 %: " +
                             FormatPercent(levels.Real("inflation_low", row) - 1, 1) + " to " +
                             FormatPercent(levels.Real("inflation_high", row) - 1, 1) + ")" +
                             BudgetText(data, process) + "; by level: table overhead_levels.");
  }
}

void AddOverhead(const ReportData& data, Document* out) {
  const Cells overhead(data.Find("overhead"));
  const Cells check(data.Find("overhead_check"));
  if (overhead.rows() == 0 && check.rows() == 0) return;
  Section section;
  section.heading = "What recording itself cost";
  for (size_t row = 0; row < check.rows(); ++row) {
    const double ratio = check.Real("inflation", row);
    const std::string name = ProcessName(data, check.Text("process", row));
    AddMeanInflation(data, check.Text("process", row), section);
    if (check.Int("checked", row) == 1 && std::isfinite(ratio)) {
      section.before.push_back(
          name + ": steps ran " + FormatPercent(ratio - 1, 1) + " longer than with the probes off" +
          " (95 %: " + FormatPercent(check.Real("inflation_low", row) - 1, 1) + " to " +
          FormatPercent(check.Real("inflation_high", row) - 1, 1) + "; " +
          Plural(check.Int("control_steps", row), "control step") +
          "). Combined with calibration, " + FormatPercent(check.Real("cost", row), 1) +
          " of a step is Crosscut's (" + FormatPercent(check.Real("cost_low", row), 1) + " to " +
          FormatPercent(check.Real("cost_high", row), 1) + ").");
    } else if (check.Int("control_steps", row) > 0) {
      section.before.push_back(name + ": " + CleanText(check.Text("message", row)) + ".");
    }
  }
  section.before.push_back(
      "An event's cost is calibrated when recording starts, then scaled (table overhead_check). "
      "\"Corrected\" "
      "times lack what is subtracted: the part that the main thread bore or waited for.");
  section.grid.heads = {{"kind of event", false}, {"events"},  {"cost"},
                        {"95 %: at least"},       {"at most"}, {"subtracted"}};
  for (size_t row = 0; row < overhead.rows(); ++row) {
    if (overhead.Int("total_ns", row) == 0) continue;
    section.grid.rows.push_back(
        {base::ShownText(overhead.Text("probe", row)), CountText(overhead.Int("count", row)),
         TimeText(overhead.Int("total_ns", row)), TimeText(overhead.Int("low_ns", row)),
         TimeText(overhead.Int("high_ns", row)), TimeText(overhead.Int("subtracted_ns", row))});
  }
  if (section.grid.rows.empty()) return;
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

void AddNext(const ReportData& data, Document* out) {
  std::string run = "RUN";
  for (const auto& [key, value] : data.facts) {
    if (key == "Run") run = base::ShellWord(CleanText(value));
  }
  out->next = {
      {"crosscut open " + run, "with a timeline"},
      {"crosscut table " + run, "the tables behind it"},
      {"crosscut export " + run + " -o trace.json.gz", "for Perfetto, HTA"},
  };
}

}  // namespace

std::span<const std::string_view> DocumentTables() {
  static constexpr std::string_view kTables[] = {
      "processes", "overlap", "step_summary",   "step_kinds",      "outliers", "step_operators",
      "functions", "samples", "overhead_check", "overhead_levels", "overhead", "sources"};
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
  AddTime(data, options, &out);
  AddSteps(data, options, &out);
  AddFunctions(data, options, &out);
  AddSamples(data, options, &out);
  AddOverhead(data, &out);
  AddSources(data, &out);
  AddNext(data, &out);
  return out;
}

}  // namespace crosscut::report
