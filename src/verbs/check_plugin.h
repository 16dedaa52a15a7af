// The verb `check-plugin`: checks whether a library keeps the rules of the plugin ABI. The checker
// is a program of its own, because it loads what it checks.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

// The checker beside `program`, "" where there is none.
std::string CheckerBeside(const std::string& program);

// Becomes the checker that stands beside this program, with these arguments; it prints and ends as
// documented in docs/check-plugin.md. Returns only where it cannot be started.
Status CheckPlugin(const std::vector<std::string>& arguments);

}  // namespace crosscut::verbs
