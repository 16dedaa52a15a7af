// Device time by the operations that launched it.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, launch_operations, ns: the time in which a device of the process was busy, by the set of
// operations whose work ran: those innermost on the launching thread when the arrow into the device
// span left it, or, where that thread had none, on the lead thread then. Sorted and joined by "+";
// (none) = launched outside every operation, (unlinked) = no arrow into any span that ran. Sums to
// the device-busy time of the process. Work inherits the launch of the span around it.
Table DeviceByLaunchTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
