// Which lines of a function are one loop's: samples meet them in turn, and in no order within a
// step.
#pragma once

#include <cstdint>
#include <vector>

namespace crosscut::analyze {

// A sample at one of two lines.
struct Meeting {
  bool second;        // of the two lines
  int64_t step;       // below 0: in none
  double within;      // where in its step, from 0 to 1
  uint32_t kind = 0;  // of the step
  int64_t at_ns = 0;  // when
  uint32_t thread = 0;
};

// Whether two lines take turns faster than steps do. Lines that follow each other once in a step
// are met in one order in it, by the samples of one step, and by where in their steps those of all
// of one kind lie. Without steps, the line of a thread changes as often as by chance in a loop,
// however far apart two samples lie: where that matters, a line lasts about as long. Under three
// samples of either it is not known: false. Requires: they are in order of time; without steps,
// those of each thread, one thread behind the other.
bool TakeTurns(const std::vector<Meeting>& meetings);

}  // namespace crosscut::analyze
