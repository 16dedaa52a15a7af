// Device time by the operations that launched it.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, launch_operations, ns: the time, without pauses, in which a device of the process was
// busy, by the set of operations whose work ran. The operation is the innermost one on the
// launching thread when the arrow into the device span left it, or, where that thread had none, on
// the lead at that time. Names are sorted and joined by "+"; "(none)" is work launched outside
// every operation, "(unlinked)" is time in which no arrow led into any span that ran. The rows sum
// to the device-busy time of the process. Work inherits the launch of the span around it.
Table DeviceByLaunchTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
