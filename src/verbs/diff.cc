#include "src/verbs/diff.h"

#include <algorithm>
#include <memory>

#include "src/analyze/gaps.h"
#include "src/analyze/tables.h"
#include "src/analyze/timeline/make_timeline.h"
#include "src/base/counted.h"
#include "src/base/lists.h"
#include "src/base/shell_word.h"
#include "src/compare/comparison.h"
#include "src/compare/document.h"
#include "src/report/shown_text.h"
#include "src/report/views.h"
#include "src/verbs/baseline.h"

namespace crosscut::verbs {
namespace {

struct Side {
  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<compare::Run> runs;

  bool damaged() const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const auto& input) { return input->trace.damaged; });
  }
  // What is missing of its inputs, with the side's name.
  void AddGaps(const std::string& name, std::vector<std::string>* gaps) const {
    for (const auto& input : inputs) {
      const std::string which = inputs.size() > 1 ? name + ", " + input->path : name;
      for (const std::string& gap : input->trace.gaps) gaps->push_back(which + ": " + gap);
    }
  }
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
  return base::Joined(
      paths, " ", [](const std::string& path) { return base::ShellWord(report::CleanText(path)); });
}

std::string CommandOf(const DiffOptions& options) {
  const bool one = options.a.size() == 1 && options.b.size() == 1;
  return one ? Joined(options.a) + " " + Joined(options.b)
             : "--base " + Joined(options.a) + " -- " + Joined(options.b);
}

report::Document DocumentOf(const compare::Comparison& comparison, const DiffOptions& options,
                            const std::vector<std::string>& gaps) {
  constexpr size_t kMostGaps = 4;
  report::Document document = compare::MakeDocument(comparison, {});
  for (size_t i = 0; i < std::min(gaps.size(), kMostGaps); ++i) {
    document.gaps.push_back(report::CleanText(gaps[i], report::kMaxPageSentence));
  }
  if (gaps.size() > kMostGaps) {
    document.gaps.push_back(base::Counted(
        gaps.size() - kMostGaps, "more {gap|gaps}: crosscut info shows those of an input."));
  }
  document.facts.insert(document.facts.begin(),
                        {{"A", Joined(options.a)}, {"B", Joined(options.b)}});
  document.next = {{"crosscut diff " + CommandOf(options) + " --format=json", "all tables"},
                   {"crosscut open " + Joined({options.b.front()}), "B with a timeline"}};
  return document;
}

// What a page shows of the first run of a side, in half of a page's room.
report::ReportData StepsOf(const Input& input) {
  report::ReportData data;
  data.facts = {{"Run", base::ShellWord(report::CleanText(input.path))}};
  data.gaps = analyze::Gaps(input.trace, *input.context);
  for (const char* name : {"processes", "steps"}) {
    data.tables.push_back(analyze::FindTable(name)->Make(input.trace, *input.context));
  }
  analyze::TimelineOptions options;
  options.max_tiles /= 2;
  options.max_detail_spans /= 2;
  options.max_arg_bytes = 0;  // the page does not show them
  options.max_flows = 0;
  data.timeline = analyze::MakeTimeline(input.trace, *input.context, options);
  return data;
}

std::string Render(compare::Comparison comparison, const DiffOptions& options,
                   std::vector<std::string> gaps, const Input& first_a, const Input& first_b) {
  if (options.format == ReportFormat::kText) {
    return report::RenderText(DocumentOf(comparison, options, gaps),
                              {options.width, options.color, options.whole});
  }
  if (options.format == ReportFormat::kMarkdown) {
    return report::RenderMarkdown(DocumentOf(comparison, options, gaps));
  }
  report::ReportData data;
  data.title = comparison.title;
  data.facts = {{"A", Joined(options.a)}, {"B", Joined(options.b)}};
  std::string differences = base::Joined(comparison.differences, "; ");
  if (!differences.empty()) data.facts.emplace_back("Differs", std::move(differences));
  data.gaps = std::move(gaps);
  data.tables = std::move(comparison.tables);
  if (options.format == ReportFormat::kJson) return report::RenderReportJson(data);
  return report::RenderComparisonHtml(data, comparison.answer.headline, StepsOf(first_a),
                                      StepsOf(first_b));
}

}  // namespace

Result<DiffOutput> Diff(const DiffOptions& options) {
  const auto a = ReadSide(options.a);
  if (!a.ok()) return a.status();
  const auto b = ReadSide(options.b);
  if (!b.ok()) return b.status();
  DiffOutput out;
  out.output.incomplete = a->damaged() || b->damaged();
  for (const auto* side : {&a->inputs, &b->inputs}) {
    for (const auto& input : *side) out.inputs.push_back(input->path);
  }
  std::vector<std::string> gaps;
  a->AddGaps("A", &gaps);
  b->AddGaps("B", &gaps);
  compare::Comparison comparison = compare::Compare({a->runs, b->runs});
  out.why_not = comparison.answer.why_not;
  out.left_out = comparison.answer.left_out;
  out.slower = comparison.answer.slower;
  out.slowest = comparison.answer.slowest;
  out.slowest_is_new = comparison.answer.slowest_is_new;
  out.output.text = Render(std::move(comparison), options, std::move(gaps), *a->inputs.front(),
                           *b->inputs.front());
  return out;
}

}  // namespace crosscut::verbs
