// Calls in which a thread waits for a device, and for which work: table device_waits.
#pragma once

#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// A blocking call of a thread. `event`: index into ProcessWork::events of the work whose end it
// waited for.
struct DeviceWait {
  trace::TrackId track;
  trace::SpanIndex call;
  uint32_t event;
  bool recorded;  // the device's library says for which stream; else by the times alone
};

// Of one process, by track and span. A call waited for the last work to end, among that launched
// before the call and ending within it: on the stream that a record of the wait names, else on any
// (one stream's synchronisation cannot be told from another's without a record). A copy that blocks
// waits for itself. Calls that waited for nothing are left out.
std::vector<DeviceWait> FindDeviceWaits(const trace::Trace& trace, const Context& context,
                                        const ProcessWork& work);

Table DeviceWaitsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
