#include "src/import/chrome/chrome_times.h"

#include <algorithm>

namespace crosscut::import {
namespace {

constexpr int64_t kHour = int64_t{3600} * 1'000'000'000, kWeek = 7 * 24 * kHour;
constexpr int64_t kLongestHalf = 500'000'000'000'000'000;  // sums of eight still fit
constexpr size_t kMostSamples = size_t{1} << 16;

}  // namespace

ChromeTimes TimesOf(const std::pmr::deque<ChromeRow>& rows) {
  size_t all = 0;
  for (const ChromeRow& row : rows) all += row.spans.size() + row.instants.size();
  if (all == 0) return {};
  const size_t every = all / kMostSamples + 1;
  std::vector<int64_t> samples;
  size_t next = 0;
  const auto sample = [&](int64_t at_ns) {
    if (next++ % every == 0) samples.push_back(at_ns);
  };
  for (const ChromeRow& row : rows) {
    for (size_t i = 0; i < row.spans.size(); ++i) sample(row.spans[i].begin_ns);
    for (const ChromeSpan& instant : row.instants) sample(instant.begin_ns);
  }
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  const size_t outside = (n + 1) / 4;  // at either end
  const int64_t middle = samples[n / 2], half = samples[n - 1 - outside] - samples[outside];
  const int64_t spread = 8 * std::min(half, kLongestHalf);
  const int64_t far = std::max(kWeek, spread), far_below = std::max(kHour, spread);
  ChromeTimes times = {middle - far, middle + far};
  if (middle > far_below) times.first_ns = std::max<int64_t>(times.first_ns, 1);
  return times;
}

uint64_t LeaveOutFar(const ChromeTimes& times, ChromeRow* row) {
  const auto far = [&](const ChromeSpan& span) {
    return !times.Has(span.begin_ns) || !times.Has(span.end_ns);
  };
  decltype(row->spans) near;
  for (size_t i = 0; i < row->spans.size(); ++i) {
    if (!far(row->spans[i])) near.push_back(row->spans[i]);
    row->spans.Forget(i);
  }
  uint64_t out = row->spans.size() - near.size();
  row->spans = std::move(near);
  out += std::erase_if(row->instants, far);
  out += std::erase_if(row->flows, [&](const ChromeFlow& flow) { return !times.Has(flow.at_ns); });
  return out;
}

}  // namespace crosscut::import
