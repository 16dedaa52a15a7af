// The windows of a timeline that show exact spans.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/timeline/timeline.h"
#include "src/analyze/timeline/timeline_texts.h"

namespace crosscut::analyze {

// Fills `timeline`.details and .flows within the limits of `options`. `tracks`: by process, indices
// into Trace::tracks. `texts` is that of `timeline`.
void AddDetails(const Context& context, const std::vector<std::vector<uint32_t>>& tracks,
                const TimelineOptions& options, TimelineTexts& texts, Timeline& timeline);

}  // namespace crosscut::analyze
