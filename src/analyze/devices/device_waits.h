// Calls in which a thread waits for a device, and for which work: the table device_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// A blocking call of a thread. `event` is the index into ProcessWork::events of the work whose end
// it waited for.
struct DeviceWait {
  trace::TrackId track;
  trace::SpanIndex call;
  uint32_t event;
  bool recorded;  // a record or the copy itself says so; false: it follows from the times
};

// The waits of one process, by track and span. A call waited for the last work to end, among the
// work that was launched before the call and ended within it. If a record of the wait names a
// stream, only that stream counts; else all do, because without a record one stream's
// synchronisation cannot be told from another's. A copy that blocks waits for itself. Calls that
// waited for nothing are left out.
std::vector<DeviceWait> FindDeviceWaits(const trace::Trace& trace, const Context& context,
                                        const ProcessWork& work);

Table DeviceWaitsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
