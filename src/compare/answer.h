// The answer of a comparison.
#pragma once

#include <string>

#include "src/compare/step_tables.h"

namespace crosscut::compare {

struct Answer {
  // kSame: no difference can be told. kNotCompared: `why_not` says why.
  enum class Result { kSlower, kFaster, kSame, kNotCompared };

  Result result = Result::kNotCompared;
  std::string headline;                  // one or two sentences
  std::string why_not;                   // a sentence without a full stop; "" where compared
  double change = 0, low = 0, high = 0;  // of a step, relative to A, with its 95 % interval
  // What became slower for certain, and by how much at least: a step, or an operation that stands
  // out, relative to itself; one that A has none of relative to A's step.
  double slower = 0;
  std::string slowest;  // "a step", or the operation's name
  bool slowest_is_new = false;
};

// Of the main role's steps. Requires: they are compared. `others`: other roles have steps, too, so
// the answer names the role.
Answer AnswerOf(const RoleSteps& steps, bool others);
Answer NotCompared(const std::string& why_not);

// "slower", "faster", "same", "not compared".
const char* NameOf(Answer::Result result);

}  // namespace crosscut::compare
