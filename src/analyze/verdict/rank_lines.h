// What the rank that others wait for in collectives does meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/lead_states.h"

namespace crosscut::analyze {

struct LeadWork {
  std::map<uint32_t, int64_t> names;  // ns by NameId of the innermost span with a layer
  BlamedLines lines;                  // in which samples saw it
};
// Of the lead of `process`, while one of `times` goes on, which are disjoint and in order.
// Requires: they are on the process's clock.
LeadWork LeadWorkIn(const Context& context, trace::ProcessId process,
                    const std::vector<trace::Interval>& times, const std::vector<Doing>& doing);

}  // namespace crosscut::analyze
