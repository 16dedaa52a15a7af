#include "src/verbs/report.h"

#include "src/report/html.h"
#include "src/report/json.h"
#include "src/report/markdown.h"
#include "src/report/text.h"

namespace crosscut::verbs {
namespace {

Scope ScopeOf(ReportFormat format) {
  switch (format) {
    case ReportFormat::kText:
    case ReportFormat::kMarkdown: return Scope::kDocument;
    case ReportFormat::kJson: return Scope::kTables;
    case ReportFormat::kHtml: return Scope::kPage;
  }
  return Scope::kTables;
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
  std::string tables;
  TakeTable take;
  if (options.format == ReportFormat::kJson) {
    take = [&](const analyze::Table& table) { report::AddTableJson(table, &tables); };
  }
  const report::ReportData data =
      MakeReportData(**input, ScopeOf(options.format), take, options.steps);
  Output output;
  output.incomplete = (*input)->trace.damaged;
  input->reset();  // the data have all of it that views show: a page needs the room
  switch (options.format) {
    case ReportFormat::kText:
      output.text = report::RenderText(data, {options.width, options.color, options.whole});
      break;
    case ReportFormat::kMarkdown: output.text = report::RenderMarkdown(data); break;
    case ReportFormat::kJson:
      output.text = report::RenderReportJson(data, std::move(tables));
      break;
    case ReportFormat::kHtml: output.text = report::RenderHtml(data); break;
  }
  return output;
}

}  // namespace crosscut::verbs
