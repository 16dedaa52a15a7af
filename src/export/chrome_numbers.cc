#include "src/export/chrome_numbers.h"

namespace crosscut::exporting {

ChromeNumbers::ChromeNumbers(const trace::Trace& trace,
                             const std::vector<std::string_view>& categories)
    : trace_(trace),
      operators_(trace,
                 [this](trace::TrackId track, trace::SpanIndex span) {
                   return IsOperator(trace_.tracks[track.value].spans.name[span]);
                 }),
      python_(trace, [this](trace::TrackId track, trace::SpanIndex span) {
        return IsPython(trace_.tracks[track.value].spans.name[span]);
      }) {
  for (const std::string_view category : categories) {
    const bool op = category == "cpu_op" || category == "user_annotation";
    roles_.push_back(op                              ? Role::kOperator
                     : category == "python_function" ? Role::kPython
                     : category == "cuda_runtime"    ? Role::kCall
                                                     : Role::kOther);
  }
  for (const trace::Track& track : trace.tracks) {
    first_.push_back(spans_ + 1);
    spans_ += static_cast<int64_t>(track.spans.size());
  }
  for (size_t i = 0; i < trace.flows.size(); ++i) {
    if (!IsLaunch(i)) continue;
    const trace::Flow& flow = trace.flows[i];
    Launch& call = launches_[wholes_.Key(flow.from_track.value, flow.from)];
    if (call.correlation == 0) {
      call = {++correlations_, OperatorAround(flow.from_track.value, flow.from),
              trace.tracks[flow.to_track.value].spans.name[flow.to]};
    }
    const Launch copy = call;  // the map may move it
    launches_[wholes_.Key(flow.to_track.value, flow.to)] = copy;
  }
}

int64_t ChromeNumbers::Around(trace::SpansAround* spans, uint32_t track,
                              trace::SpanIndex span) const {
  const trace::SpanIndex parent = trace_.tracks[track].spans.parent[span];
  const trace::SpanIndex found = spans->Of({track}, parent);
  return found == trace::kNoSpan ? 0 : Of(track, found);
}

}  // namespace crosscut::exporting
