// The verb `check-plugin`: checks whether a library keeps the rules of the plugin ABI. The checker
// is a separate program, because it loads the library that it checks.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

// The path of the checker in the folder of `program`; "" where there is none.
std::string CheckerBeside(const std::string& program);

// Replaces this process with the checker beside this program, with these arguments. The checker
// prints and ends as documented in docs/check-plugin.md. Returns only where it cannot be started.
Status CheckPlugin(const std::vector<std::string>& arguments);

}  // namespace crosscut::verbs
