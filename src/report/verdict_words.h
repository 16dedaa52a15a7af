// What text and page say of a verdict's gain, in the same words.
#pragma once

#include <cstddef>
#include <string>

#include "src/report/cells.h"

namespace crosscut::report {

struct GainWords {
  bool known = true;
  // "74 % at most (95 %: 70 % to 78 %)", with as many digits as the interval leaves; where zero is
  // in that, "not known: between 0 % and 83 %".
  std::string most;
  // "37 %", for the program's own purpose, operators and devices: nobody's cost nothing. Else "".
  std::string half;
};
// Of a row of table `verdict`.
GainWords GainWordsOf(const Cells& verdict, size_t row);

}  // namespace crosscut::report
