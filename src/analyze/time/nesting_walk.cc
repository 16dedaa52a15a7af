#include "src/analyze/time/nesting_walk.h"

#include "src/trace/layers.h"

namespace crosscut::analyze {

using trace::kNoSpan;
using trace::SpanIndex;

NestingWalk::NestingWalk(const trace::Trace& trace, const trace::Spans& spans)
    : spans_(spans),
      last_inside_(spans.size(), kNoSpan),
      before_(spans.size(), kNoSpan),
      ran_inside_(spans.size(), kNoSpan),
      ran_before_(spans.size(), kNoSpan) {
  layer_.reserve(spans.size());
  SpanIndex last_outermost = kNoSpan;
  for (SpanIndex span = 0; span < spans.size(); ++span) {
    const SpanIndex parent = spans.parent[span];
    SpanIndex& last = parent == kNoSpan ? last_outermost : last_inside_[parent];
    before_[span] = last;
    last = span;
    const trace::Name& name = trace.name(spans.name[span]);
    if (name.kind == trace::Kind::kSpan || Runs(parent)) ran_inside_[span] = span;
    layer_.push_back(trace::LayerInside(name, LayerIn(parent)));
  }
  for (auto span = static_cast<SpanIndex>(spans.size()); span-- > 0;) {  // the latest child first
    const SpanIndex parent = spans.parent[span];
    if (parent != kNoSpan && ran_inside_[parent] == kNoSpan)
      ran_inside_[parent] = ran_inside_[span];
  }
  for (SpanIndex span = 0; span < spans.size(); ++span) {
    const SpanIndex before = before_[span], parent = spans.parent[span];
    if (before != kNoSpan) {
      ran_before_[span] = RanBy(before);
    } else if (parent != kNoSpan) {
      ran_before_[span] = ran_before_[parent];
    }
  }
  ended_ = last_outermost;
}

void NestingWalk::GoTo(int64_t at_ns) {
  while (true) {
    if (ended_ != kNoSpan && spans_.begin_ns[ended_] >= at_ns) {
      ended_ = before_[ended_];
    } else if (ended_ != kNoSpan && spans_.end_ns[ended_] >= at_ns) {
      innermost_ = ended_;
      ended_ = last_inside_[innermost_];
    } else if (innermost_ != kNoSpan && spans_.begin_ns[innermost_] >= at_ns) {
      ended_ = before_[innermost_];
      innermost_ = spans_.parent[innermost_];
    } else {
      return;
    }
  }
}

}  // namespace crosscut::analyze
