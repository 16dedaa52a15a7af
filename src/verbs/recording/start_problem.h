// Why a command cannot be started, and what to type instead.
#pragma once

#include <string>
#include <vector>

namespace crosscut::verbs {

// The errno with which execvp() would refuse a command of that name, as far as the files tell; 0
// where they do not. `path`: the folders of PATH.
int StartError(const std::string& name, const std::string& path);

// One sentence for a command that could not be executed for that errno: the nearest name, or the
// line to type where one is near, as for a script that is not executable.
std::string StartProblem(const std::vector<std::string>& command, int error,
                         const std::string& path);

}  // namespace crosscut::verbs
