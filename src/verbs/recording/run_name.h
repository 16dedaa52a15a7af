// The name of a run directory, from the template that -o gives.
#pragma once

#include <string>

#include "src/base/status.h"

namespace crosscut::verbs {

// Replaces %p by this process's id, %h by the host's name, %r by the rank and %j by the batch job's
// id that the environment tells, %q{NAME} by the environment variable NAME, and %% by "%". kInvalid
// for another letter, and for what is not set here.
Result<std::string> ExpandRunName(const std::string& name);

// The batch job's id that the environment tells, as for %j; "": none.
std::string BatchJob();

}  // namespace crosscut::verbs
