// What tables say of themselves, whatever they hold.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/tables.h"

namespace crosscut::analyze {

// From how many steps a table comes that shows this: a sentence for each process with steps of
// which it does not show some.
std::vector<std::string> StepNotes(const trace::Trace& trace, const Context& context, Shows shows);

}  // namespace crosscut::analyze
