// When the ends of an arrow show on their spans: readers of Chrome's format bind an end to the
// innermost event of its row that is open then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/spans_around.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

class ArrowTimes {
 public:
  // `trace` must outlive it.
  explicit ArrowTimes(const trace::Trace& trace) : trace_(trace), open_(trace) {}

  struct Times {
    int64_t leaves, arrives;
  };
  // It arrives no earlier than it leaves, where the span that it leads to lasts so long: readers
  // drop an end before its begin. Requires: both ends lie in spans.
  Times Of(const trace::Flow& flow);
  // Appends sentences about those so far that readers take for others, or drop.
  void Tell(std::vector<std::string>* gaps) const;

 private:
  bool Shows(trace::TrackId track, trace::SpanIndex span, int64_t at);
  int64_t TimeInside(trace::TrackId track, trace::SpanIndex span, int64_t at);

  const trace::Trace& trace_;
  trace::OpenSpansByTrack open_;
  uint64_t elsewhere_ = 0, backward_ = 0;
};

}  // namespace crosscut::exporting
