// Runs the tests, each in its own process, and sorts what they found to the tests it belongs to.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/check/child.h"

namespace crosscut::check {

enum class Verdict { kPass, kWarn, kFail, kSkip };
const char* NameOf(Verdict verdict);

struct TestResult {
  const Test* test;
  Verdict verdict = Verdict::kPass;
  std::vector<Finding> findings;
  std::string why;  // of a skip; a figure worth reading otherwise
  double seconds = 0;
};

// Of the tests up to the level that options() names, in the order of the table. An error where the
// checker could not run one of them.
Result<std::vector<TestResult>> RunTests();

// The first sessions alone. What makes the plugin useless to any host, in a sentence; "": nothing.
// An error where that cannot be told: the checker could not try it, or the plugin needs TensorFlow
// and there is none that can be loaded.
Result<std::string> Probe();

// Finds the TensorFlow of options().python, or of python3, for children to load. Both functions
// above do so where the plugin needs it. An error tells the next step.
Status GiveTensorFlow();

}  // namespace crosscut::check
