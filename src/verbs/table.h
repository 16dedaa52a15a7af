// The verb `table`: gives one table of one input to other programs.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/report/table_text.h"

namespace crosscut::verbs {

enum class TableFormat { kCsv, kJson };

struct TableOutput {
  bool incomplete = false;  // as Output::incomplete
  std::string remark;       // where the table has no rows: how it would have some
};

// Gives the table to `take` in parts. kUnsupported, with the names that are near, where there is no
// table `name`; nothing is given then.
Result<TableOutput> Table(const std::string& path, const std::string& name, TableFormat format,
                          const report::TakeText& take);

std::vector<std::string> TableNames();

bool IsTable(const std::string& name);
std::vector<std::string> TableNames();
// A line "name  description" for each table.
std::string ListTables();

}  // namespace crosscut::verbs
