#include "src/compare/divide.h"

#include <algorithm>
#include <numeric>

namespace crosscut::compare {

std::vector<int64_t> DivideExactly(const std::vector<int64_t>& sums, int64_t count) {
  std::vector<int64_t> out;
  out.reserve(sums.size());
  int64_t rest = 0;
  for (const int64_t sum : sums) {
    out.push_back(sum / count);
    rest += sum % count;
  }
  std::vector<size_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return sums[x] % count > sums[y] % count; });
  const int64_t missing = rest / count + (rest % count >= count - rest % count ? 1 : 0);
  for (int64_t i = 0; i < missing; ++i) ++out[order[static_cast<size_t>(i)]];
  return out;
}

}  // namespace crosscut::compare
