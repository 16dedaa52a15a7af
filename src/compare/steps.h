// The steps that are compared, of one process and its counterparts in the other runs.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "src/analyze/layer_set.h"
#include "src/compare/roles.h"
#include "src/compare/run.h"

namespace crosscut::compare {

// What a step is split into.
struct StepKey {
  std::string operation;  // "": none
  analyze::LayerSet layers = 0;
  friend bool operator<(const StepKey& x, const StepKey& y) {
    return std::tie(x.operation, x.layers) < std::tie(y.operation, y.layers);
  }
};

// A part of a step.
struct StepPart {
  uint32_t step, key;  // indices into RunSteps::steps and ::keys
  int64_t ns;          // as recorded
  double corrected_ns;
};

struct ComparedStep {
  uint32_t index;  // into Process::steps
  int64_t ns = 0;  // as recorded
};

// Those of one process that are compared: of one kind and not control steps, at the level that most
// of them have, whole, not the first after a switch, not warming up.
struct RunSteps {
  uint8_t level = 0;
  std::vector<ComparedStep> steps;  // in order of time
  std::vector<StepKey> keys;
  std::vector<StepPart> parts;  // sum to the steps; those of a step stand together
};

// The kinds of steps of a role that each run of either side has, those that take most time in all
// runs together first, without those that take less of it than kLeastOfKinds.
inline constexpr double kLeastOfKinds = 0.02;
std::vector<std::string> KindsOf(const Sides& sides, const Role& role);

// By run of the side; runs without the role's process have no steps.
Both<std::vector<RunSteps>> CompareSteps(const Sides& sides, const Role& role,
                                         const std::string& kind);

}  // namespace crosscut::compare
