// What people call a process: the program that it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crosscut::verbs {

// The last part of a path.
std::string BaseName(const std::string& path);

// "train.py" for `python -u train.py`, "pkg.main" for `python -m pkg.main`, "python" for `python -c
// ...`, else the program's own name.
std::string ProgramName(const std::vector<std::string>& command);

// "train.py (pid 4711)" of a process that is alive; "process 4711" where its command line cannot be
// read.
std::string ProcessTitle(int64_t pid);

}  // namespace crosscut::verbs
