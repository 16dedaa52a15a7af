// Division of sums into whole numbers that still add up.
#pragma once

#include <cstdint>
#include <vector>

namespace crosscut::compare {

// Each of `sums` divided by `count`, rounded such that the results sum to their rounded total
// divided by `count` (largest remainder; the first of equal ones). Requires: count > 0, no sum
// below 0. The result for equal sums does not depend on anything else.
std::vector<int64_t> DivideExactly(const std::vector<int64_t>& sums, int64_t count);

}  // namespace crosscut::compare
