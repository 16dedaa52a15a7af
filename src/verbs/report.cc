#include "src/verbs/report.h"

#include <set>
#include <utility>

#include "src/report/views.h"

namespace crosscut::verbs {
namespace {

Scope ScopeOf(ReportFormat format) {
  switch (format) {
    case ReportFormat::kText:
    case ReportFormat::kMarkdown: return Scope::kDocument;
    case ReportFormat::kJson: return Scope::kTables;
    case ReportFormat::kHtml: return Scope::kPage;
    case ReportFormat::kSummary: return Scope::kSummary;
  }
  return Scope::kTables;
}

// What a report is made of, without the input.
struct Parts {
  report::ReportData data;
  std::string tables;  // of JSON, instead of data.tables: made one after the other
};

Parts PartsOf(const Input& input, const ReportOptions& options) {
  Parts parts;
  TakeTable take;
  if (options.format == ReportFormat::kJson) {
    take = [&](const analyze::Table& table) { report::AddTableJson(table, &parts.tables); };
  }
  parts.data = MakeReportData(input, ScopeOf(options.format), take, options.steps);
  return parts;
}

std::string Render(Parts parts, const ReportOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return report::RenderText(parts.data, {options.width, options.color, options.whole});
    case ReportFormat::kMarkdown: return report::RenderMarkdown(parts.data);
    case ReportFormat::kJson: return report::RenderReportJson(parts.data, std::move(parts.tables));
    case ReportFormat::kHtml: return report::RenderHtml(parts.data);
    case ReportFormat::kSummary: return report::RenderSummaryJson(parts.data);
  }
  return "";
}

// Whether each of the numbers is that of a step of some process.
Status CheckSteps(const trace::Trace& trace, const std::vector<int64_t>& wanted) {
  std::set<int64_t> numbers;
  for (const trace::Process& process : trace.processes) {
    for (const trace::Step& step : process.steps) numbers.insert(step.number);
  }
  for (const int64_t number : wanted) {
    if (numbers.contains(number)) continue;
    const std::string what = "no step has the number " + std::to_string(number);
    return Status::NotFound(numbers.empty()
                                ? what + ": the run has no steps"
                                : what + "; the first one is " + std::to_string(*numbers.begin()) +
                                      ", the last one " + std::to_string(*numbers.rbegin()));
  }
  return {};
}

}  // namespace

ReportFormat ReportFormatOf(std::string_view file) {
  if (file.ends_with(".gz")) file.remove_suffix(3);
  if (file.ends_with(".html") || file.ends_with(".htm")) return ReportFormat::kHtml;
  if (file.ends_with(".md") || file.ends_with(".markdown")) return ReportFormat::kMarkdown;
  return file.ends_with(".json") ? ReportFormat::kJson : ReportFormat::kText;
}

Result<Output> Report(const std::string& path, const ReportOptions& options) {
  auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  if (Status known = CheckSteps((*input)->trace, options.steps); !known.ok()) return known;
  Parts parts = PartsOf(**input, options);
  Output output;
  output.incomplete = (*input)->trace.damaged;
  input->reset();  // the parts have all of it that views show: a page needs the room
  output.text = Render(std::move(parts), options);
  return output;
}

std::string ReportOf(const Input& input, const ReportOptions& options) {
  return Render(PartsOf(input, options), options);
}

}  // namespace crosscut::verbs
