#include "src/trace/whole_spans.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace crosscut::trace {
namespace {

// Where it was not told: a part begins where a part of its name ends that nothing goes on with yet,
// outer ones first.
std::vector<SpanIndex> GuessPartsBefore(const Spans& spans) {
  std::vector<SpanIndex> before = spans.parts_before;
  std::unordered_set<uint32_t> cut;
  for (const SpanIndex span : spans.continued) cut.insert(spans.name[span].value);
  std::unordered_map<uint32_t, std::vector<SpanIndex>> latest;  // by name, parts to go on with
  size_t next = 0;
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (!cut.contains(spans.name[i].value)) continue;
    std::vector<SpanIndex>& parts = latest[spans.name[i].value];
    while (!parts.empty() && spans.end_ns[parts.back()] < spans.begin_ns[i]) parts.pop_back();
    if (next < before.size() && spans.continued[next] == i) {
      const auto goes_on_with = std::find_if(parts.begin(), parts.end(), [&](SpanIndex part) {
        return before[next] == kNoSpan ? spans.end_ns[part] == spans.begin_ns[i]
                                       : part == before[next];
      });
      if (goes_on_with != parts.end()) {
        before[next] = *goes_on_with;
        parts.erase(goes_on_with);
      }
      ++next;
    }
    parts.push_back(i);
  }
  return before;
}

}  // namespace

WholeSpans::WholeSpans(const Spans& spans) : spans_(spans) {
  if (spans.continued.empty()) return;
  const auto& told = spans.parts_before;
  const bool all = std::find(told.begin(), told.end(), kNoSpan) == told.end();
  const std::vector<SpanIndex> before = all ? told : GuessPartsBefore(spans);
  for (size_t i = 0; i < before.size(); ++i) {
    const SpanIndex part = spans.continued[i];
    if (before[i] == kNoSpan || spans.end_ns[before[i]] != spans.begin_ns[part]) continue;
    const SpanIndex whole = first(before[i]);
    firsts_[part] = whole;
    ends_[whole] = spans.end_ns[part];
  }
}

}  // namespace crosscut::trace
