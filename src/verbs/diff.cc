#include "src/verbs/diff.h"

#include <memory>

#include "src/base/shell_word.h"
#include "src/compare/comparison.h"
#include "src/compare/document.h"
#include "src/report/json.h"
#include "src/report/markdown.h"
#include "src/report/shown_text.h"
#include "src/report/text.h"
#include "src/verbs/baseline.h"

namespace crosscut::verbs {
namespace {

struct Side {
  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<compare::Run> runs;
};

Result<Side> ReadSide(const std::vector<std::string>& inputs) {
  Side side;
  for (const std::string& named : inputs) {
    const auto paths = ExpandBaseline(named);
    if (!paths.ok()) return paths.status();
    for (const std::string& path : *paths) {
      auto input = ReadInput(path);
      if (!input.ok()) return input.status();
      side.runs.push_back({&(*input)->trace, (*input)->context.get()});
      side.inputs.push_back(std::move(*input));
    }
  }
  return side;
}

std::string Joined(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    out += (out.empty() ? "" : " ") + base::ShellWord(report::CleanText(path));
  }
  return out;
}

std::string CommandOf(const DiffOptions& options) {
  const bool one = options.a.size() == 1 && options.b.size() == 1;
  return one ? Joined(options.a) + " " + Joined(options.b)
             : "--base " + Joined(options.a) + " -- " + Joined(options.b);
}

report::Document DocumentOf(const compare::Comparison& comparison, const DiffOptions& options) {
  report::Document document = compare::MakeDocument(comparison, {});
  document.facts.insert(document.facts.begin(),
                        {{"A", Joined(options.a)}, {"B", Joined(options.b)}});
  document.next = {{"crosscut diff " + CommandOf(options) + " --format=json", "all tables"},
                   {"crosscut open " + Joined({options.b.front()}), "B with a timeline"}};
  return document;
}

std::string Render(compare::Comparison comparison, const DiffOptions& options) {
  switch (options.format) {
    case DiffFormat::kText:
      return report::RenderText(DocumentOf(comparison, options),
                                {options.width, options.color, options.whole});
    case DiffFormat::kMarkdown: return report::RenderMarkdown(DocumentOf(comparison, options));
    case DiffFormat::kJson: break;
  }
  report::ReportData data;
  data.title = comparison.title;
  data.facts = {{"A", Joined(options.a)}, {"B", Joined(options.b)}};
  data.gaps = comparison.differences;
  data.tables = std::move(comparison.tables);
  return report::RenderReportJson(data);
}

}  // namespace

Result<DiffOutput> Diff(const DiffOptions& options) {
  const auto a = ReadSide(options.a);
  if (!a.ok()) return a.status();
  const auto b = ReadSide(options.b);
  if (!b.ok()) return b.status();
  DiffOutput out;
  for (const Side* side : {&*a, &*b}) {
    for (const auto& input : side->inputs) {
      out.output.incomplete = out.output.incomplete || input->trace.damaged;
    }
  }
  compare::Comparison comparison = compare::Compare({a->runs, b->runs});
  out.why_not = comparison.answer.why_not;
  out.low = comparison.answer.low;
  out.output.text = Render(std::move(comparison), options);
  return out;
}

}  // namespace crosscut::verbs
