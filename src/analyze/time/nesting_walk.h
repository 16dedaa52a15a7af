// The spans of one track looked at backwards in time: what was innermost just before an instant,
// and what had ended last, for instants that only ever get earlier. All looks together cost as much
// as the track has spans, however deep they nest.
#pragma once

#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

class NestingWalk {
 public:
  // The track and its trace outlive it. Memory: 9 bytes a span.
  NestingWalk(const trace::Trace& trace, const trace::Spans& spans);

  // Just before `at`, which is no later than in the call before.
  void GoTo(int64_t at_ns);
  // The innermost span that began before `at` and did not end before it; kNoSpan: none.
  trace::SpanIndex innermost() const { return innermost_; }
  // What lies in it directly and ended last before `at`; kNoSpan: nothing.
  trace::SpanIndex ended() const { return ended_; }

  // Whether anything but annotations is there: the span, or one around it.
  bool Runs(trace::SpanIndex span) const { return span != trace::kNoSpan && about_[span].runs; }
  // The layer in force in a span of the host.
  trace::Layer LayerIn(trace::SpanIndex span) const {
    return span == trace::kNoSpan ? trace::Layer::kNone : about_[span].layer;
  }

 private:
  struct About {
    bool runs;
    trace::Layer layer;
  };
  const trace::Spans& spans_;
  std::vector<trace::SpanIndex> last_inside_, before_;  // by span: last child; sibling before
  std::vector<About> about_;
  trace::SpanIndex innermost_ = trace::kNoSpan, ended_ = trace::kNoSpan;
};

}  // namespace crosscut::analyze
