// The partition of every process's window: overlap (all cells), and its sums operations, layers and
// layer_totals.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, operation, layers, device, ns, corrected_ns.
Table OverlapTable(const trace::Trace& trace, const Context& context);
// process, operation, count, wall_ns = host_ns + overlap_ns + device_ns + idle_ns + unknown_ns +
// control_ns, overhead_ns = wall_ns - corrected_ns, corrected_ns, corrected_low_ns,
// corrected_high_ns, run_delay_ns (always missing), total_ns. count: how many operations of the
// lead began in the window. total_ns: the time without pauses in which the lead had at least one of
// that name open, whatever was open inside it; missing for the operation "".
Table OperationsTable(const trace::Trace& trace, const Context& context);
// process, layers, device, ns, corrected_ns: summed over operations.
Table LayersTable(const trace::Trace& trace, const Context& context);

// process, layer, ns: the time in which the layer was active, alone or with others; "device" is
// one. Overlaps count in each of their layers, so this is no partition.
Table LayerTotalsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
