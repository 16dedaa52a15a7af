#include "src/trace/whole_spans.h"

#include <algorithm>

namespace crosscut::trace {

WholeSpans::WholeSpans(const Spans& spans) : spans_(spans) {
  for (size_t i = 0; i < spans.continued.size(); ++i) {
    const SpanIndex part = spans.continued[i], before = spans.parts_before[i];
    if (spans.end_ns[before] != spans.begin_ns[part]) continue;
    const SpanIndex whole = first(before);
    firsts_[part] = whole;
    ends_[whole] = spans.end_ns[part];
  }
}

uint32_t EndedInside::Of(SpanIndex part) {
  const int64_t end = spans_.end_ns[part];
  if (spans_.begin_ns[part] == end) return 0;
  if (const auto known = known_.find(part); known != known_.end()) return known->second;
  // All that end then lie around the one that began last.
  const auto after = std::lower_bound(spans_.begin_ns.begin() + part, spans_.begin_ns.end(), end);
  std::unordered_map<uint32_t, uint32_t> counts;  // by name
  auto inner = static_cast<SpanIndex>(after - spans_.begin_ns.begin()) - 1;
  for (; inner != kNoSpan && spans_.end_ns[inner] <= end; inner = spans_.parent[inner]) {
    if (spans_.end_ns[inner] == end) known_[inner] = counts[spans_.name[inner].value]++;
  }
  return known_[part];
}

}  // namespace crosscut::trace
