#include "src/analyze/table_entry.h"

#include <string>
#include <utility>
namespace crosscut::analyze {

Table TableEntry::Make(const trace::Trace& trace, const Context& context) const {
  Table table = compute(trace, context);
  for (Column& column : table.columns) column.ShrinkToFit();
  for (std::string& note : StepNotes(trace, context, shows)) table.notes.push_back(std::move(note));
  if (table.rows() == 0 && recorded_by != nullptr) table.notes.emplace_back(recorded_by);
  return table;
}

}  // namespace crosscut::analyze
