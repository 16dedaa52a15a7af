#include "src/analyze/tables.h"

#include <algorithm>
#include <string>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/findings.h"
#include "src/analyze/gaps.h"
#include "src/base/nearest.h"

namespace crosscut::analyze {
namespace {

Table GapsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("gaps", Text("message"));
  for (const std::string& sentence : Gaps(trace, context)) table.Add(sentence);
  return table.Make();
}

constexpr TableEntry kWhole[] = {
    {.name = "gaps",
     .shows = Shows::kFacts,
     .description = "what is missing, repaired or unchecked, in sentences",
     .compute = GapsTable},
    {.name = "findings",
     .shows = Shows::kFacts,
     .description = "what stands out, in sentences, and the tables that say so",
     .compute = FindingsTable,
     .title = "What stands out",
     .explanation = "Sentences, each with the table that it comes from."},
};

std::vector<TableEntry> AllTables() {
  std::vector<TableEntry> all;
  for (const std::span<const TableEntry> room :
       {std::span<const TableEntry>(kWhole), VerdictTables(), TimeTables(), ProcessTables(),
        DeviceTables(), CollectiveTables(), OperatorTables(), MemoryTables(), StepTables(),
        AccountingTables()}) {
    all.insert(all.end(), room.begin(), room.end());
  }
  return all;
}

}  // namespace

std::span<const TableEntry> TableList() {
  static const std::vector<TableEntry> all = AllTables();
  return all;
}

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  for (const TableEntry& entry : TableList()) names.emplace_back(entry.name);
  return names;
}

const TableEntry* FindTable(std::string_view name) {
  const std::span<const TableEntry> all = TableList();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const TableEntry& e) { return name == e.name; });
  return found == all.end() ? nullptr : &*found;
}

Result<Table> ComputeTable(const trace::Trace& trace, const Context& context,
                           std::string_view name) {
  if (const TableEntry* entry = FindTable(name)) return entry->Make(trace, context);
  return Status::NotFound(base::UnknownName("table", name, TableNames()));
}

}  // namespace crosscut::analyze
