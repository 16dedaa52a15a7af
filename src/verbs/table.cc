#include "src/verbs/table.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "src/base/nearest.h"
#include "src/base/shown_text.h"
#include "src/report/html_parts.h"
#include "src/report/table_text.h"
#include "src/verbs/input.h"
#include "src/verbs/output.h"

namespace crosscut::verbs {
namespace {

// "table steps has no rows; ...": with the notes of the table from the one of that number on.
std::string Remark(const analyze::Table& table, size_t first_note) {
  std::string out = "table " + table.name;
  std::string separator = ": ";
  if (table.rows() == 0) {
    out += " has no rows";
    separator = "; ";
  }
  for (size_t i = first_note; i < table.notes.size(); ++i) {
    out += separator + table.notes[i];
    separator = "; ";
  }
  return out;
}

}  // namespace

Result<TableOutput> WriteTable(const analyze::Table& whole, const TableOptions& options,
                               const std::string& file, const std::vector<std::string>& inputs) {
  const bool all = options.query.all();
  Result<analyze::Table> chosen = all ? analyze::Table() : Select(whole, options.query);
  if (!chosen.ok()) return chosen.status();
  const analyze::Table& table = all ? whole : *chosen;
  auto sink = OpenOutput(file, inputs);
  if (!sink.ok()) return sink.status();
  Status written;
  // What names hold must not drive a terminal.
  const bool terminal = file == "-" && isatty(STDOUT_FILENO) != 0;
  const auto take = [&](std::string_view part) {
    if (written.ok()) written = (*sink)->Write(terminal ? base::ShownLines(part) : part);
  };
  (options.format == TableFormat::kJson ? report::WriteJson : report::WriteCsv)(table, take);
  if (written.ok()) written = (*sink)->Close();
  if (!written.ok()) return written;
  TableOutput output;
  if (whole.rows() == 0) {
    output.remark = Remark(whole, 0);
  } else if (table.rows() < whole.rows()) {
    output.remark = Remark(table, whole.notes.size());
  }
  return output;
}

Result<TableOutput> WriteTableOf(const std::string& path, const std::string& name,
                                 const TableOptions& options, const std::string& file) {
  if (analyze::FindTable(name) == nullptr) {
    return Status::Unsupported(base::UnknownName("table", name, TableNames()));
  }
  auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  const auto whole = analyze::ComputeTable((*input)->trace, *(*input)->context, name);
  if (!whole.ok()) return whole.status();
  auto output = WriteTable(*whole, options, file, {path});
  if (output.ok()) output->incomplete = (*input)->trace.damaged;
  return output;
}

std::vector<std::string> ShownCells(const analyze::Table& table, size_t row, int64_t origin) {
  std::vector<std::string> cells;
  for (const analyze::Column& column : table.columns) {
    cells.push_back(report::CellText(column, row, origin));
  }
  return cells;
}

bool IsTable(const std::string& name) { return analyze::FindTable(name) != nullptr; }

std::vector<std::string> TableNames() { return analyze::TableNames(); }

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
