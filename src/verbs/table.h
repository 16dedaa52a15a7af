// The verb `table`: one table of one input, for other programs.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

enum class TableFormat { kCsv, kJson };

// kUnsupported, with the names there are, where there is no table `name`.
Result<Output> Table(const std::string& path, const std::string& name, TableFormat format);

// "name  description" a line.
std::string ListTables();

}  // namespace crosscut::verbs
