// A run of a part of what a process records: a window of the recording that is under way.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/format/cut.h"

namespace crosscut::verbs {

// Makes the run `output`, which must not be there, of that part of the process `key` of the run
// `input`. Where that fails, nothing is left.
Status CutRun(const std::string& input, const std::string& key, const format::Cut& cut,
              const std::string& output);

}  // namespace crosscut::verbs
