#include "src/analyze/table_entry.h"

#include <string>
#include <utility>
namespace crosscut::analyze {

Table TableEntry::Make(const trace::Trace& trace, const Context& context) const {
  Table table = compute(trace, context);
  for (Column& column : table.columns) column.ShrinkToFit();
  for (std::string& note : StepNotes(trace, context, shows)) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace crosscut::analyze
