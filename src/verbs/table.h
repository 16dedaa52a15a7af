// The verb `table`: one table of one input, for other programs.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/report/table_text.h"

namespace crosscut::verbs {

enum class TableFormat { kCsv, kJson };

// Gives the table to `take`, and says whether it is complete: false where part of the input could
// not be read. kUnsupported, with the names there are, where there is no table `name`; nothing is
// given then.
Result<bool> Table(const std::string& path, const std::string& name, TableFormat format,
                   const report::TakeText& take);

// "name  description" a line.
std::string ListTables();

}  // namespace crosscut::verbs
