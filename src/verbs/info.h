// The verb `info`: what an input is and holds, without analysis.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

Result<Output> Info(const std::string& path);

}  // namespace crosscut::verbs
