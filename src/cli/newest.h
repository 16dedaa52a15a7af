// The input of verbs that name none.
#pragma once

#include <string>
#include <vector>

namespace crosscut::cli {

// Puts the newest run into empty `inputs` and says which on stderr. An exit code: kUsage, which it
// explains, where there is no run here.
int TakeNewest(std::vector<std::string>* inputs);

}  // namespace crosscut::cli
