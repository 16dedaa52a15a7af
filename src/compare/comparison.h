// Two sides of runs compared: the tables of `crosscut diff`, and what they say in words.
//
// All tables have A's figures, B's, and their difference B - A, which is exact: a table of A
// against A has zeros, one of B against A the same with the other sign.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/analyze/table.h"
#include "src/compare/answer.h"
#include "src/compare/run.h"

namespace crosscut::compare {

struct Comparison {
  Answer answer;
  std::string title;                     // what ran
  std::vector<std::string> differences;  // in how the runs were made; sentences
  // diff_verdict (result, headline, change_share, low_share, high_share, why_not: one row),
  // diff_steps (the process of the answer first), diff_step_operations, diff_step_overlap,
  // and those of tables.h.
  std::vector<analyze::Table> tables;

  const analyze::Table* Find(std::string_view name) const;
};

// Requires: each side has a run.
Comparison Compare(const Sides& sides);

}  // namespace crosscut::compare
