// What a verdict says of each cause: one table. docs/verdict.md shows it.
#pragma once

#include <span>

#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {

struct VerdictRule {
  Cause cause;
  // The work that the program is there for: it bounds the steps only where nothing else does.
  bool purpose = false;
  double first_from;  // the share of the steps from which on it may stand first
  // As the first, and as a further one: "{share}", "{of}" and "{who}" stand for "78 %", "the steps"
  // and the ranks that come last.
  const char *headline = "", *also = "";
  const char* kind = "";    // in a list: "Python 33 %"
  const char* action = "";  // one thing to do
  const char* table;        // where to look next
};

// A burden stands first from a quarter on: without it a step would be a third faster.
inline constexpr double kBurdenFrom = 0.25;
// But where the purpose takes more than twice as much, the purpose is what bounds the steps.
inline constexpr double kBurdenToPurpose = 0.5;
// Work that is the program's purpose stands first from a third on. Below, the time is spread so
// thin that no single cause bounds a step.
inline constexpr double kPurposeFrom = 1.0 / 3;
// Further causes are told from a tenth on: they are worth a look, and noise of a busy machine is
// below that.
inline constexpr double kWorthSaying = 0.1;

// From here on, waiting for a processor is told behind the causes.
inline constexpr double kPreemptionFrom = 0.25;

// In the order of Cause.
std::span<const VerdictRule> VerdictRules();
// That of kOtherProcess in a run of one process: who is waited for may be a thread of its own, at
// the other end of a connection.
const VerdictRule& WhoAnswersRule();

}  // namespace crosscut::analyze
