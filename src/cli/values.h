// What values of options may be.
#pragma once

#include <cmath>
#include <cstdint>

#include "src/cli/arguments.h"

namespace crosscut::cli {

// Take a number with or without a unit (src/base/quantity.h), in that range, and leave it as a
// plain number of seconds or as whole MiB.
Check Seconds(double least, double most);
Check Mebibytes(double least, double most);

// Takes a whole number in that range.
Check WholeNumber(uint64_t least, uint64_t most);

// Takes the number of a step.
Check StepNumber();

// Takes a number of percent from 0 to `most`, with or without the sign, and leaves the plain
// number.
Check Percent(double most = HUGE_VAL);

}  // namespace crosscut::cli
