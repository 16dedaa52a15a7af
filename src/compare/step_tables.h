// The difference of a step, split so that it adds up.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/table.h"
#include "src/compare/renames.h"
#include "src/compare/steps.h"
#include "src/compare/undisturbed.h"
#include "src/compare/verdict.h"

namespace crosscut::compare {

// The steps of one role and one kind on both sides.
struct RoleSteps {
  std::string process, kind;
  bool has_several = false;  // other kinds of its process are compared, too
  // "train.py", or "train.py, evaluate" where there are several kinds.
  std::string title() const { return has_several ? process + ", " + kind : process; }
  Both<std::vector<RunSteps>> runs;
  Both<std::vector<Undisturbed>> undisturbed;  // by run; empty where the steps are not compared
  StepChange change;
  std::vector<Rename> renames;
  std::string why_not;      // why no change is told of them; "" where one is
  bool as_a_whole = false;  // one side states no operations, so `runs` has none
  // The steps of its process take at least half the time of those of the one with most.
  bool takes_long = false;
};

// process, kind, a_steps, b_steps, a_ns, b_ns, change_ns, a_corrected_ns, b_corrected_ns,
// change_corrected_ns, a_undisturbed_ns, b_undisturbed_ns, change_undisturbed_ns, low_ns, high_ns,
// why_not: a row for each role and kind. Nanoseconds per step: the mean as recorded, the mean
// without Crosscut's own cost, what it takes undisturbed (undisturbed.h) and the 95 % interval of
// that change. The last ones are kMissing where `why_not` says why, and all are of a side without
// steps to compare.
analyze::Table StepsTable(const std::vector<RoleSteps>& roles);

// process, operation, a_ns, ..., high_ns as above, stands_out, found ("both", "A", "B"),
// maybe_renamed (what it may be called on the other side, or ""), kind: a row for each operation.
// The rows of a process and kind sum to its row of diff_steps, to the nanosecond, except low_ns and
// high_ns.
analyze::Table StepOperationsTable(const std::vector<RoleSteps>& roles);

// process, operation, layers, device, a_ns, ..., change_undisturbed_ns, kind: a row for each
// operation and set of layers. The rows sum to those of diff_step_operations.
analyze::Table StepOverlapTable(const std::vector<RoleSteps>& roles);

}  // namespace crosscut::compare
