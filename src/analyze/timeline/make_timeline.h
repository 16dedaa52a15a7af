#pragma once

#include <cstddef>

#include "src/analyze/context.h"
#include "src/analyze/timeline/timeline.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Bounds of a timeline's size, however long the run.
struct TimelineOptions {
  size_t max_tiles = 40000;         // in all levels and tracks together
  size_t max_tracks = 256;          // the busiest ones; the rest is counted in omitted_tracks
  size_t max_detail_spans = 12000;  // in all details together
};

// The timeline of the whole run, empty for a trace without processes. `context` was made for
// `trace`. Where there are too many tiles, the least busy tracks lose their finest levels.
Timeline MakeTimeline(const trace::Trace& trace, const Context& context,
                      const TimelineOptions& options = {});

}  // namespace crosscut::analyze
