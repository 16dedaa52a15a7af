// Sentences that tables carry as notes, whatever their rows hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Which steps contribute to a table. It matters where a step plan records less of some steps than
// of others.
enum class Shows : uint8_t {
  kFacts,       // facts, or lengths of steps, which are known of all steps
  kTime,        // all time; control steps stand under layer control, and those left out
  kMarks,       // what is recorded in every step except control steps
  kBoundary,    // what also steps that the budget left out do not record
  kOperators,   // what steps with operators record
  kEverything,  // what only steps with everything record
  kSpans,       // single spans of all these sorts
};

// From how many steps a table comes that shows this: a sentence for each process that has steps
// which do not contribute.
std::vector<std::string> StepNotes(const trace::Trace& trace, const Context& context, Shows shows);

}  // namespace crosscut::analyze
