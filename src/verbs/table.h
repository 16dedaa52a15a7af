// The verb `table`: gives one table of one input to other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/report/table_text.h"
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

// Gives the table to `take` in parts. kUnsupported, with the names that are near, where there is no
// table `name`, or the query cannot be meant; nothing is given then.
Result<TableOutput> Table(const std::string& path, const std::string& name,
                          const TableOptions& options, const report::TakeText& take);

// The same into a file, as OpenOutput opens one.
Result<TableOutput> TableToFile(const std::string& path, const std::string& name,
                                const TableOptions& options, const std::string& file);

// The cells of a row as people read them, with units; times of day are since `origin`.
std::vector<std::string> ShownCells(const analyze::Table& table, size_t row, int64_t origin);

bool IsTable(const std::string& name);
std::vector<std::string> TableNames();
// A line "name  description" for each table.
std::string ListTables();

}  // namespace crosscut::verbs
