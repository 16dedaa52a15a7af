// Which arrows are launches: the first that leads from a call of a thread to a piece of its own
// process's device work. Readers of Kineto's files and of XSpaces join both by one number, which a
// piece of work has once; all other arrows are arrows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

class Launches {
 public:
  explicit Launches(const trace::Trace& trace) {
    std::unordered_set<uint64_t> launched;
    for (const trace::Flow& flow : trace.flows) {
      const trace::Track &from = trace.tracks[flow.from_track.value],
                         &to = trace.tracks[flow.to_track.value];
      is_.push_back(HasEnds(flow) && IsWork(trace, to, flow.to) &&
                    from.kind != trace::TrackKind::kDevice && from.process == to.process &&
                    launched.insert(uint64_t{flow.to_track.value} << 32 | flow.to).second);
    }
  }
  // `flow`: index into Trace::flows.
  bool Is(size_t flow) const { return is_[flow]; }
  // Whether both ends lie in spans: no format has other arrows.
  static bool HasEnds(const trace::Flow& flow) {
    return flow.from != trace::kNoSpan && flow.to != trace::kNoSpan;
  }

 private:
  // No annotation, and no wait.
  static bool IsWork(const trace::Trace& trace, const trace::Track& track, trace::SpanIndex span) {
    if (track.kind != trace::TrackKind::kDevice) return false;
    const trace::Name& name = trace.name(track.spans.name[span]);
    return !name.scope() && name.layer != trace::Layer::kIdle;
  }

  std::vector<bool> is_;
};

}  // namespace crosscut::exporting
