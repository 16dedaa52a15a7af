// Runs of many ranks and hosts: their work is done in Python, where Arrow and DuckDB are.
#pragma once

#include <string>
#include <vector>

namespace crosscut::cli {

// Whether `reduce` made the folder at this path.
bool IsCluster(const std::string& path);

// Becomes a Python that runs the verb with these options ("--format=json") on the inputs. Returns
// only where that cannot be started: an exit code.
int RunOnCluster(std::string verb, std::vector<std::string> options,
                 const std::vector<std::string>& inputs);

}  // namespace crosscut::cli
