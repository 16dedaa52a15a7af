#include "src/export/nesting_rows.h"

#include <algorithm>

namespace crosscut::exporting {

using trace::SpanIndex;

NestingRows::NestingRows(const trace::Trace& trace, const trace::Spans& spans,
                         const trace::WholeSpans& wholes)
    : spans_(spans), wholes_(wholes) {
  if (spans.continued.empty()) return;
  rows_.resize(spans.size());
  MoveWhatCrosses(trace);
  std::sort(moved_.begin(), moved_.end());
  for (const SpanIndex span : moved_) Place(span);
  open_.clear();
}

// Where one ends as the other begins, it holds what the trace says began in it.
bool NestingRows::Holds(SpanIndex around, SpanIndex span) const {
  const int64_t end = wholes_.end_ns(around), begin = spans_.begin_ns[span];
  if (end != begin) return end > begin;
  SpanIndex parent = spans_.parent[span];
  while (parent != trace::kNoSpan && wholes_.first(parent) != around) {
    parent = spans_.parent[parent];
  }
  return parent != trace::kNoSpan;
}

void NestingRows::MoveWhatCrosses(const trace::Trace& trace) {
  const auto readiness = [&](SpanIndex span) {
    const trace::Name& name = trace.name(spans_.name[span]);
    const bool ours = name.layer == trace::Layer::kOverhead;
    if (name.scope() || name.crosses || ours) return 2;
    return wholes_.end_ns(span) != spans_.end_ns[span] ? 1 : 0;
  };
  std::vector<SpanIndex> open;
  for (SpanIndex span = 0; span < spans_.size(); ++span) {
    if (wholes_.first(span) != span) continue;
    while (!open.empty() && !Holds(open.back(), span)) open.pop_back();
    bool moves = false;
    while (!moves && !open.empty() && wholes_.end_ns(open.back()) < wholes_.end_ns(span)) {
      moves = readiness(span) >= readiness(open.back());
      if (moves) break;
      moved_.push_back(open.back());
      open.pop_back();
    }
    (moves ? moved_ : open).push_back(span);
  }
}

// In the first row in which it nests.
void NestingRows::Place(SpanIndex span) {
  uint32_t row = 1;
  for (;; ++row) {
    if (row == size_) open_.emplace_back(), ++size_;
    std::vector<SpanIndex>& open = open_[row - 1];
    while (!open.empty() && !Holds(open.back(), span)) open.pop_back();
    if (!open.empty() && wholes_.end_ns(open.back()) < wholes_.end_ns(span)) continue;
    open.push_back(span);
    break;
  }
  rows_[span] = row;
}

}  // namespace crosscut::exporting
