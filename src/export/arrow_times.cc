#include "src/export/arrow_times.h"

#include "src/base/counted.h"

namespace crosscut::exporting {

ArrowTimes::Times ArrowTimes::Of(const trace::Flow& flow) {
  Times times = {TimeInside(flow.from_track, flow.from, flow.from_ns),
                 TimeInside(flow.to_track, flow.to, flow.to_ns)};
  if (times.arrives < times.leaves && Shows(flow.to_track, flow.to, times.leaves)) {
    times.arrives = times.leaves;
  }
  backward_ += times.arrives < times.leaves ? 1 : 0;
  return times;
}

void ArrowTimes::Tell(std::vector<std::string>* gaps) const {
  const auto tell = [gaps](uint64_t count, const char* words) {
    if (count > 0) gaps->push_back(base::Counted(count, words));
  };
  tell(elsewhere_,
       "{end of an arrow stands|ends of arrows stand} where another span begins or ends, too: "
       "readers may take {it|them} for that one's.");
  tell(backward_,
       "{arrow arrives before it leaves|arrows arrive before they leave}: readers leave {it|them} "
       "out.");
}

// An end may be at the very end of what nothing is around.
bool ArrowTimes::Shows(trace::TrackId track, trace::SpanIndex span, int64_t at) {
  const trace::OpenSpans& open = open_.of(track);
  const trace::SpanIndex innermost = open.InnermostAt(at);
  return innermost == span || (innermost == trace::kNoSpan && open.InnermostTouching(at) == span);
}

// The begin, as Kineto has it; `at` where another event begins there, too.
int64_t ArrowTimes::TimeInside(trace::TrackId track, trace::SpanIndex span, int64_t at) {
  const int64_t begin = trace_.tracks[track.value].spans.begin_ns[span];
  if (Shows(track, span, begin)) return begin;
  if (Shows(track, span, at)) return at;
  ++elsewhere_;
  return begin;
}

}  // namespace crosscut::exporting
