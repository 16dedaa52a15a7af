// Whether something bounds a program's steps, or is long in a few of them alone.
#pragma once

#include <cstdint>
#include <vector>

namespace crosscut::analyze {

// By step, in order of time: nanoseconds of it, and of all. Whether it is worth saying without the
// steps in which it takes most, half as many as the square root of all; or behind the first fifth
// of them, where some of these come again and again, as a validation does. A first step that
// compiles may take half of a short run, and says nothing of the others. True under ten steps.
bool Lasts(const std::vector<int64_t>& parts, const std::vector<int64_t>& wholes);

}  // namespace crosscut::analyze
