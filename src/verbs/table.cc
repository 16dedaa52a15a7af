#include "src/verbs/table.h"

#include <algorithm>

#include "src/base/nearest.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

Result<TableOutput> Table(const std::string& path, const std::string& name, TableFormat format,
                          const report::TakeText& take) {
  if (analyze::FindTable(name) == nullptr) {
    return Status::Unsupported(base::UnknownName("table", name, TableNames()));
  }
  auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  const auto table = analyze::ComputeTable((*input)->trace, *(*input)->context, name);
  if (!table.ok()) return table.status();
  (format == TableFormat::kJson ? report::WriteJson : report::WriteCsv)(*table, take);
  TableOutput output;
  output.incomplete = (*input)->trace.damaged;
  if (table->rows() > 0) return output;
  output.remark = "table " + name + " has no rows";
  for (const std::string& note : table->notes) output.remark += "; " + note;
  return output;
}

bool IsTable(const std::string& name) {
  const auto& tables = analyze::TableList();
  return std::any_of(tables.begin(), tables.end(),
                     [&](const analyze::TableEntry& entry) { return name == entry.name; });
}

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  for (const analyze::TableEntry& entry : analyze::TableList()) names.emplace_back(entry.name);
  return names;
}

std::string ListTables() {
  size_t width = 0;
  for (const auto& entry : analyze::TableList()) {
    width = std::max(width, std::string_view(entry.name).size());
  }
  std::string out;
  for (const auto& entry : analyze::TableList()) {
    std::string name = entry.name;
    name.resize(width + 2, ' ');
    out += name + entry.description + "\n";
  }
  return out;
}

}  // namespace crosscut::verbs
