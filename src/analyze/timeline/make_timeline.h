#pragma once

#include "src/analyze/context.h"
#include "src/analyze/timeline/timeline.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The timeline of the whole run, empty for a trace without processes. `context` was made for
// `trace`. Where there are too many tiles, the least busy tracks lose their finest levels.
Timeline MakeTimeline(const trace::Trace& trace, const Context& context,
                      const TimelineOptions& options = {});

}  // namespace crosscut::analyze
