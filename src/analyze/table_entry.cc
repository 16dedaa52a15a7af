#include "src/analyze/table_entry.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "src/analyze/recorded_by.h"

namespace crosscut::analyze {
namespace {

bool HasSteps(const trace::Trace& trace) {
  return std::any_of(trace.processes.begin(), trace.processes.end(),
                     [](const trace::Process& process) { return !process.steps.empty(); });
}

}  // namespace

std::string_view TableEntry::WhyEmpty(bool has_steps) const {
  if (recorded_by == nullptr) return "";
  return has_steps && std::string_view(recorded_by) == kBySteps ? kNothingInSteps : recorded_by;
}

Table TableEntry::Make(const trace::Trace& trace, const Context& context) const {
  Table table = compute(trace, context);
  for (Column& column : table.columns) column.ShrinkToFit();
  for (std::string& note : StepNotes(trace, context, shows)) table.notes.push_back(std::move(note));
  if (table.rows() > 0) return table;
  const std::string_view why = WhyEmpty(HasSteps(trace));
  if (!why.empty()) table.notes.emplace_back(why);
  return table;
}

}  // namespace crosscut::analyze
