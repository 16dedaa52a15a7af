// Lines of the program that have another place on either side: code was inserted above them, or
// their function or file has another name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/compare/run.h"

namespace crosscut::compare {

// One line; "" on the side that has none like it.
struct SameLine {
  std::string a, b;
};

// Each line of either side once. `ns`: what lines ("data/loader.py:41 Loader.next") take.
//
// Lines of a function stay in their order. They are others than their numbers say if the times then
// differ by less than half of what they differ by number; a function that one side lacks is one of
// the other side's with its file or its name, if that takes as long by kOtherName. What does not
// look like a line is the same where its text is. Takes O(lines²) time for a function, by number
// alone from kMostMoved lines on.
inline constexpr double kOtherName = 1.5;
inline constexpr size_t kMostMoved = 1000;
std::vector<SameLine> MatchLines(const Both<std::map<std::string, double>>& ns);

}  // namespace crosscut::compare
