// The verb `diff`: whether one set of runs is slower than another, and where.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/input.h"
#include "src/verbs/report.h"

namespace crosscut::verbs {

struct DiffOptions : View {       // of any format but kSummary
  std::vector<std::string> a, b;  // runs, files or baselines of either side, at least one each
};

struct DiffOutput {
  Output output;
  std::vector<std::string> inputs;  // what was read, also of baselines
  // Why no change of a step can be told, a sentence without a full stop; "" where one can.
  std::string why_not;
  // Processes that take as long as the one that is compared and are not, with the reason; "": none.
  std::string left_out;
  // By how much a step, or an operation of it that stands out, became longer at least (the end of a
  // 95 % interval), relative to A's: 0.05 is 5 %. And which of them: "a step", or a name.
  double slower = 0;
  std::string slowest;
  bool slowest_is_new = false;
};

Result<DiffOutput> Diff(const DiffOptions& options);

}  // namespace crosscut::verbs
