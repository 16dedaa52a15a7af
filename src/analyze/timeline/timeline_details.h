// The windows of a timeline that show exact spans.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/timeline/timeline.h"

namespace crosscut::analyze {

// The windows with at most `max_spans` spans in all. `tracks`: by process, indices into
// Trace::tracks. `text` maps a NameId's value to an index into Timeline::texts.
std::vector<TimelineDetail> MakeDetails(const trace::Trace& trace, const Context& context,
                                        const std::vector<std::vector<uint32_t>>& tracks,
                                        size_t max_spans,
                                        const std::function<uint32_t(uint32_t)>& text);

}  // namespace crosscut::analyze
