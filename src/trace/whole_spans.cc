#include "src/trace/whole_spans.h"

#include <unordered_set>
#include <vector>

namespace crosscut::trace {

// A part begins where a part of its name ends that nothing goes on with yet.
WholeSpans::WholeSpans(const Spans& spans) : spans_(spans) {
  if (spans.continued.empty()) return;
  std::unordered_set<uint32_t> cut;
  for (const SpanIndex span : spans.continued) cut.insert(spans.name[span].value);
  std::unordered_map<uint32_t, std::vector<SpanIndex>> latest;  // by name, parts to go on with
  Continuations continuations(spans);
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    if (!cut.contains(spans.name[i].value)) continue;
    std::vector<SpanIndex>& parts = latest[spans.name[i].value];
    while (!parts.empty() && spans.end_ns[parts.back()] < spans.begin_ns[i]) parts.pop_back();
    if (continuations.Has(i)) {
      for (size_t p = 0; p < parts.size(); ++p) {  // outer ones go on first
        if (spans.end_ns[parts[p]] != spans.begin_ns[i]) continue;
        const SpanIndex whole = first(parts[p]);
        firsts_[i] = whole;
        ends_[whole] = spans.end_ns[i];
        parts.erase(parts.begin() + static_cast<ptrdiff_t>(p));
        break;
      }
    }
    parts.push_back(i);
  }
}

}  // namespace crosscut::trace
