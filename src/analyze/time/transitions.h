// How often the key of docs/accounting.md changes from one to another, and how long it then stays:
// RL-Scope's category transitions.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// process, from_operation, from_layers, from_device, to_operation, to_layers, to_device, count, ns:
// the time spent in the second key after such changes. So `ns` sums to the window without pauses,
// and by second key to the table `overlap`. Where the window begins or goes on after a pause,
// from_layers is "(start)". The longest of a process first.
Table TransitionsTable(const trace::Trace& trace, const Context& context);

// process, operation, layer (also "device"), entries (how often the layer became active, alone or
// with others, while the operation stayed the same), ns (how long it was active in the operation).
Table LayerEntriesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
