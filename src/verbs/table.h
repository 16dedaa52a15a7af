// The verb `table`: gives one table of one input to other programs.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/report/table_text.h"

namespace crosscut::verbs {

enum class TableFormat { kCsv, kJson };

// Gives the table to `take` in parts. Returns whether it is complete: false where a part of the
// input could not be read. kUnsupported, with the names of the tables, where there is no table
// `name`; nothing is given then.
Result<bool> Table(const std::string& path, const std::string& name, TableFormat format,
                   const report::TakeText& take);

bool IsTable(const std::string& name);
std::vector<std::string> TableNames();
// A line "name  description" for each table.
std::string ListTables();

}  // namespace crosscut::verbs
