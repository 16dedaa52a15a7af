#include "src/report/document.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/report/cells.h"
#include "src/report/document_time.h"
#include "src/report/html_text.h"

namespace crosscut::report {
namespace {

constexpr size_t kNameBytes = 100;

std::string Time(int64_t ns) { return ns == analyze::kMissing ? "" : FormatNs(ns); }

std::string Count(int64_t count) { return count == analyze::kMissing ? "" : FormatCount(count); }

std::string Plural(int64_t count, const char* word) {
  return FormatCount(count) + " " + word + (count == 1 ? "" : "s");
}

void AddSteps(const ReportData& data, const DocumentOptions& options, Document* out) {
  const Cells summary(data.Find("step_summary"));
  const Cells outliers(data.Find("outliers"));
  if (summary.rows() == 0) return;
  Section section;
  section.heading = "Steps";
  section.grid.heads = {{"process", false}, {"kind", false}, {"steps"}, {"control"},
                        {"median"},         {"p10"},         {"p90"},   {"slowest"}};
  for (size_t row = 0; row < summary.rows(); ++row) {
    section.grid.rows.push_back(
        {ProcessName(data, summary.Text("process", row)),
         CleanText(summary.Text("kind", row), kNameBytes), Count(summary.Int("steps", row)),
         Count(summary.Int("control_steps", row)), Time(summary.Int("median_ns", row)),
         Time(summary.Int("p10_ns", row)), Time(summary.Int("p90_ns", row)),
         Time(summary.Int("max_ns", row))});
  }
  for (size_t row = 0; row < std::min(outliers.rows(), options.outliers); ++row) {
    std::string line = "Unusual: step " + std::to_string(outliers.Int("step", row)) + " took " +
                       Time(outliers.Int("wall_ns", row)) + " (median " +
                       Time(outliers.Int("median_ns", row)) + ")";
    const std::string layers =
        LayersText(outliers.Text("layers", row), outliers.Int("device", row) == 1);
    const int64_t grew = outliers.Int("grew_ns", row);
    if (grew > 0) line += ", " + Time(grew) + " more than usual in " + layers;
    section.after.push_back(line + ".");
  }
  if (outliers.rows() > options.outliers) {
    section.after.push_back("More of them: table outliers.");
  }
  out->sections.push_back(std::move(section));
}

void AddFunctions(const ReportData& data, const DocumentOptions& options, Document* out) {
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
  section.heading = "What worked longest (\"self\" is without its callees; waiting is left out)";
  section.grid.heads = {{"name", false}, {"layer", false}, {"count"}, {"self"},
                        {"total"},       {"p50"},          {"p99"}};
  for (size_t i = 0; i < std::min(order.size(), options.functions); ++i) {
    const size_t row = order[i];
    section.grid.rows.push_back(
        {CleanText(functions.Text("name", row), kNameBytes),
         std::string(functions.Text("layer", row)), Count(functions.Int("count", row)),
         Time(functions.Int("self_ns", row)), Time(functions.Int("total_ns", row)),
         Time(functions.Int("p50_ns", row)), Time(functions.Int("p99_ns", row))});
  }
  out->sections.push_back(std::move(section));
}

void AddOverhead(const ReportData& data, Document* out) {
  const Cells overhead(data.Find("overhead"));
  const Cells check(data.Find("overhead_check"));
  if (overhead.rows() == 0 && check.rows() == 0) return;
  Section section;
  section.heading = "What recording cost";
  for (size_t row = 0; row < check.rows(); ++row) {
    const double ratio = check.Real("inflation", row);
    const std::string name = ProcessName(data, check.Text("process", row));
    if (check.Int("checked", row) == 1 && std::isfinite(ratio)) {
      section.before.push_back(name + ": steps ran " + FormatPercent(ratio - 1, 1) +
                               " longer than with the probes off" +
                               " (95 %: " + FormatPercent(check.Real("inflation_low", row) - 1, 1) +
                               " to " + FormatPercent(check.Real("inflation_high", row) - 1, 1) +
                               "; " + Plural(check.Int("control_steps", row), "control step") +
                               "). " + "\"Corrected\" times are without that.");
    } else if (check.Int("control_steps", row) > 0) {
      section.before.push_back(name + ": " + CleanText(check.Text("message", row)) +
                               "; corrected by calibration alone.");
    }
  }
  section.grid.heads = {{"probe", false}, {"events"}, {"in all"}, {"95 %: from"}, {"to"}};
  for (size_t row = 0; row < overhead.rows(); ++row) {
    if (overhead.Int("total_ns", row) == 0) continue;
    section.grid.rows.push_back(
        {CleanText(overhead.Text("probe", row), kNameBytes), Count(overhead.Int("count", row)),
         Time(overhead.Int("total_ns", row)), Time(overhead.Int("low_ns", row)),
         Time(overhead.Int("high_ns", row))});
  }
  if (section.grid.rows.empty()) section.grid.heads.clear();
  if (section.grid.rows.empty() && section.before.empty()) return;
  out->sections.push_back(std::move(section));
}

void AddSources(const ReportData& data, Document* out) {
  const Cells sources(data.Find("sources"));
  if (sources.rows() == 0) return;
  Section section;
  section.heading = "Where the spans came from";
  section.grid.heads = {{"source", false}, {"version", false}, {"state", false}, {"", false}};
  for (size_t row = 0; row < sources.rows(); ++row) {
    section.grid.rows.push_back({CleanText(sources.Text("name", row), kNameBytes),
                                 CleanText(sources.Text("version", row), kNameBytes),
                                 CleanText(sources.Text("state", row), kNameBytes),
                                 CleanText(sources.Text("message", row))});
  }
  out->sections.push_back(std::move(section));
}

void AddNext(const ReportData& data, Document* out) {
  std::string run = "RUN";
  for (const auto& [key, value] : data.facts) {
    if (key == "Run") run = CleanText(value);
  }
  out->next = {
      {"crosscut report " + run + " --format=html -o report.html", "all of this with a timeline"},
      {"crosscut table " + run, "every table behind these numbers"},
      {"crosscut export " + run + " --to=chrome -o trace.json.gz", "for Perfetto and HTA"},
  };
}

}  // namespace

Document MakeDocument(const ReportData& data, const DocumentOptions& options) {
  Document out;
  out.title = CleanText(data.title);
  for (const auto& [key, value] : data.facts) {
    out.facts.emplace_back(CleanText(key), CleanText(value, kMaxPageSentence));
  }
  for (const std::string& gap : data.gaps) out.gaps.push_back(CleanText(gap, kMaxPageSentence));
  AddTime(data, options, &out);
  AddSteps(data, options, &out);
  AddFunctions(data, options, &out);
  AddOverhead(data, &out);
  AddSources(data, &out);
  AddNext(data, &out);
  return out;
}

}  // namespace crosscut::report
