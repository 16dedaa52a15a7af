// The answer of a comparison.
#pragma once

#include <string>
#include <vector>

#include "src/compare/step_tables.h"

namespace crosscut::compare {

struct Answer {
  // kSame: no difference can be told. kNotCompared: `why_not` says why.
  enum class Result { kSlower, kFaster, kSame, kNotCompared };

  Result result = Result::kNotCompared;
  std::string headline;  // one or two sentences
  std::string why_not;   // a sentence without a full stop; "" where compared
  // Of processes that take long, but are not those of the answer, likewise: which are not compared,
  // and why. "" where all are.
  std::string left_out;
  double change = 0, low = 0, high = 0;  // of a step, relative to A, with its 95 % interval
  // What became slower for certain, and by how much at least: a step, or an operation that stands
  // out, relative to itself; one that A has none of relative to A's step.
  double slower = 0;
  std::string slowest;  // "a step", or the operation's name; behind its role's, of several
  bool slowest_is_new = false;
};

// Of the steps of the first of these roles, which it names if there are several. What became slower
// is sought in all that take long (RoleSteps::takes_long). Requires: those of the first are
// compared.
Answer AnswerOf(const std::vector<RoleSteps>& roles);
Answer NotCompared(const std::string& why_not);

// "slower", "faster", "same", "not compared".
const char* NameOf(Answer::Result result);

}  // namespace crosscut::compare
