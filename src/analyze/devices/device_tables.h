// How devices spent their time, by process: the tables device_timeline, temporal_breakdown,
// kernel_types, comm_overlap, kernels, copies, device_events. All times are those of the devices'
// own events; a process's devices and streams are taken together. docs/analyses.md defines each
// table.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

Table DeviceTimelineTable(const trace::Trace& trace, const Context& context);
Table TemporalBreakdownTable(const trace::Trace& trace, const Context& context);
Table KernelTypesTable(const trace::Trace& trace, const Context& context);
Table CommOverlapTable(const trace::Trace& trace, const Context& context);
Table KernelsTable(const trace::Trace& trace, const Context& context);
Table CopiesTable(const trace::Trace& trace, const Context& context);
// A row for each event, for questions that no other table answers.
Table DeviceEventsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
