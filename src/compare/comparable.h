// Why the steps of two sides cannot be compared, and in what their recordings differ.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/table.h"
#include "src/compare/roles.h"
#include "src/compare/steps.h"

namespace crosscut::compare {

// Sentences without a full stop, with the next step. "" where they can be compared.
std::string WhyNotCompared(const Both<std::vector<RunSteps>>& runs);
// The same of what concerns whole runs: machines, devices, how many of their processes have steps.
std::string WhyNotCompared(const Sides& sides);

// The same of the inputs that the operators of layer framework and comm were called with, where
// they were recorded: most calls must have inputs that the other side has, too. `inputs`:
// diff_inputs.
std::string WhyNotCompared(const analyze::Table& inputs);

// What differs in the programs' versions and in how they were recorded and does not keep them from
// being compared: "torch: A 2.12.0, B 2.13.0".
std::vector<std::string> Differences(const Sides& sides, const Role& role);

}  // namespace crosscut::compare
