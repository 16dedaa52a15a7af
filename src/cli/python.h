// Verbs whose work is done in Python.
#pragma once

#include <string>
#include <vector>

namespace crosscut::cli {

// Becomes `python -m crosscut WORDS`, with the package that this program lies in. `python`: a path
// of one, or "": the one that started this program, else that of its environment, else the first in
// PATH. Returns only where that cannot be started, which it says: an exit code.
int RunPython(const std::vector<std::string>& words, std::string python = "");

// Whether `reduce` made the folder at this path: of runs of many ranks and hosts.
bool IsCluster(const std::string& path);
// As RunPython, with the verb's `options` ("--format=json") and the inputs.
int RunOnCluster(std::string verb, std::vector<std::string> options,
                 const std::vector<std::string>& inputs);

}  // namespace crosscut::cli
