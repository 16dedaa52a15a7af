// The verb `table`: gives one table of one input to other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/table.h"
#include "src/base/status.h"
#include "src/verbs/table_query.h"

namespace crosscut::verbs {

enum class TableFormat { kCsv, kJson };

struct TableOptions {
  TableFormat format = TableFormat::kCsv;
  TableQuery query;
};

struct TableOutput {
  bool incomplete = false;  // as Output::incomplete
  std::string remark;       // which rows are left out; where there are none: how there would be
};

// Writes what `options` want of a table that is made of `inputs` to `file`, as OpenOutput opens it.
// kUnsupported where the query cannot be meant; nothing is written then.
Result<TableOutput> WriteTable(const analyze::Table& whole, const TableOptions& options,
                               const std::string& file, const std::vector<std::string>& inputs);

// The same of a table of the input at `path`. kUnsupported, with the names that are near, where
// there is no table `name`.
Result<TableOutput> WriteTableOf(const std::string& path, const std::string& name,
                                 const TableOptions& options, const std::string& file);

// The cells of a row as people read them, with units; times of day are since `origin`.
std::vector<std::string> ShownCells(const analyze::Table& table, size_t row, int64_t origin);

bool IsTable(const std::string& name);
std::vector<std::string> TableNames();
// A line "name  description" for each table.
std::string ListTables();

}  // namespace crosscut::verbs
