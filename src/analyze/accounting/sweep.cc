#include "src/analyze/accounting/sweep.h"

#include <array>
#include <bit>

namespace crosscut::analyze {
namespace {

constexpr int kDigitBits = 11;

void SortByDigit(const Record* from, size_t n, Record* to, int shift) {
  std::array<uint32_t, 1 << kDigitBits> at{};
  constexpr Record kMask = (1 << kDigitBits) - 1;
  for (size_t i = 0; i < n; ++i) ++at[from[i] >> shift & kMask];
  uint32_t sum = 0;
  for (uint32_t& slot : at) {
    const uint32_t count = slot;
    slot = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; ++i) to[at[from[i] >> shift & kMask]++] = from[i];
}

}  // namespace

void Records::Sort() {
  if (sorted_) return;
  if (long_) return SortLong();
  if (size_ < 128) {  // a pass costs as much as its 2,048 counters
    std::stable_sort(data_.begin(), data_.begin() + static_cast<ptrdiff_t>(size_),
                     [](Record a, Record b) { return a >> 32 < b >> 32; });
    return;
  }
  Record latest = 0;
  for (size_t i = 0; i < size_; ++i) latest |= data_[i];
  if (scratch_.size() < data_.size()) scratch_.resize(data_.size());
  const int top = 64 - std::countl_zero(latest);
  for (int shift = 32; shift < top; shift += kDigitBits) {
    SortByDigit(data_.data(), size_, scratch_.data(), shift);
    data_.swap(scratch_);
  }
}

void Records::SortLong() {
  struct Change {
    int64_t since;
    uint32_t change;
  };
  std::vector<Change> changes;
  changes.reserve(size_);
  for (size_t i = 0; i < size_; ++i) changes.push_back({Since(i), change(i)});
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.since < b.since; });
  Clear(/*long_tile=*/true);
  for (const Change& c : changes) Add(c.since, c.change);
}

}  // namespace crosscut::analyze
