// A walk over the spans of one track backwards in time: what was innermost just before an instant,
// and what had ended last. Instants must only get earlier. All looks together cost as much as the
// track has spans, however deep they nest.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

class NestingWalk {
 public:
  // The trace and the spans must outlive it. It takes 17 bytes a span.
  NestingWalk(const trace::Trace& trace, const trace::Spans& spans);

  // Goes to just before `at_ns`, which is no later than in the call before.
  void GoTo(int64_t at_ns);
  // The innermost span that began before `at_ns` and did not end before it; kNoSpan: none.
  trace::SpanIndex innermost() const { return innermost_; }
  // The span directly in the innermost one that ended last before `at_ns`; kNoSpan: none.
  trace::SpanIndex ended() const { return ended_; }
  // The last one before `at_ns` that is more than an annotation, wherever it stands; kNoSpan: none.
  // Requires: the innermost one does not run.
  trace::SpanIndex ran() const {
    return ended_ != trace::kNoSpan       ? RanBy(ended_)
           : innermost_ != trace::kNoSpan ? ran_before_[innermost_]
                                          : trace::kNoSpan;
  }

  // Whether the span, or one around it, is more than an annotation. False for kNoSpan.
  bool Runs(trace::SpanIndex span) const {
    return span != trace::kNoSpan && ran_inside_[span] == span;
  }
  // The layer in force in a span of a host thread; kNone where that is the thread's base layer.
  trace::Layer LayerIn(trace::SpanIndex span) const {
    return span == trace::kNoSpan ? trace::Layer::kNone : layer_[span];
  }

 private:
  // The last that ran by the end of the span.
  trace::SpanIndex RanBy(trace::SpanIndex span) const {
    return ran_inside_[span] != trace::kNoSpan ? ran_inside_[span] : ran_before_[span];
  }

  const trace::Spans& spans_;
  // By span: the last child, the sibling before; the last that ran in it, itself where it does, and
  // before it.
  std::vector<trace::SpanIndex> last_inside_, before_, ran_inside_, ran_before_;
  std::vector<trace::Layer> layer_;
  trace::SpanIndex innermost_ = trace::kNoSpan, ended_ = trace::kNoSpan;
};

}  // namespace crosscut::analyze
