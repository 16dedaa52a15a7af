// What tables say of themselves, whatever they hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Which steps' doings a table holds, where a step plan records some steps with less than others.
enum class Shows : uint8_t {
  kFacts,       // no doings, or only lengths of steps, which are known of all
  kTime,        // all time, that of control steps as such
  kBoundary,    // what is recorded in every step but control steps
  kOperators,   // what comes with operators
  kEverything,  // what is recorded only with everything
  kSpans,       // single spans of all these sorts
};

// From how many steps a table comes that shows this: a sentence for each process with steps of
// which it does not show some.
std::vector<std::string> StepNotes(const trace::Trace& trace, const Context& context, Shows shows);

}  // namespace crosscut::analyze
