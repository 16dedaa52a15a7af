// Compares what a seed's program said that it did with what its runs hold.
#pragma once

#include <string>

namespace crosscut::stress {

// Prints what is wrong, a line each. Returns 1 if anything is.
int Check(const std::string& dir);

}  // namespace crosscut::stress
