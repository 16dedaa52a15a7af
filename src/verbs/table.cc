#include "src/verbs/table.h"

#include <algorithm>

#include "src/verbs/input.h"

namespace crosscut::verbs {

Result<bool> Table(const std::string& path, const std::string& name, TableFormat format,
                   const report::TakeText& take) {
  std::string known;
  bool found = false;
  for (const auto& entry : analyze::TableList()) {
    known += known.empty() ? entry.name : std::string(", ") + entry.name;
    found = found || name == entry.name;
  }
  if (!found) return Status::Unsupported("unknown table " + name + "; the tables are " + known);
  auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  const auto table = analyze::ComputeTable((*input)->trace, *(*input)->context, name);
  if (!table.ok()) return table.status();
  (format == TableFormat::kJson ? report::WriteJson : report::WriteCsv)(*table, take);
  return !(*input)->trace.damaged;
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
