// Spans that were cut, whole again: for readers that count each once.
#pragma once

#include <unordered_map>

#include "src/trace/trace.h"

namespace crosscut::trace {

// Of one track; free where no span of it was cut. The spans outlive it and do not change.
class WholeSpans {
 public:
  explicit WholeSpans(const Spans& spans);

  // The part with which the span begins: itself, unless it goes on with an earlier one.
  SpanIndex first(SpanIndex span) const {
    const auto at = firsts_.find(span);
    return at == firsts_.end() ? span : at->second;
  }
  // Where the last part of a span ends. Requires: first(span) == span.
  int64_t end_ns(SpanIndex span) const {
    const auto at = ends_.find(span);
    return at == ends_.end() ? spans_.end_ns[span] : at->second;
  }

 private:
  const Spans& spans_;
  std::unordered_map<SpanIndex, SpanIndex> firsts_;  // by part
  std::unordered_map<SpanIndex, int64_t> ends_;      // by first part
};

}  // namespace crosscut::trace
