#include "src/analyze/devices/device_waits.h"
#include "src/analyze/devices/kernel_metrics.h"
#include "src/analyze/devices/tables.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "device_by_launch",
     .shows = Shows::kMarks,
     .description = "device time by the operations that launched it",
     .compute = DeviceByLaunchTable,
     .title = "Device time by launch",
     .explanation = "Busy time of devices by the operation that enqueued the work, not by the one "
                    "that was open while it ran.",
     .largest_by = "ns",
     .recorded_by = kByDevices},
    {.name = "device_timeline",
     .shows = Shows::kMarks,
     .description = "what devices did, computation first, then what it did not hide",
     .compute = DeviceTimelineTable,
     .title = "Devices: what they did",
     .explanation = "From the first work on a process's devices to the last: computing; "
                    "communication and copies that no computation hid; nothing at all.",
     .recorded_by = kByDevices},
    {.name = "temporal_breakdown",
     .shows = Shows::kMarks,
     .description = "devices: computing, otherwise busy, idle",
     .compute = TemporalBreakdownTable,
     .title = "Devices: computing, busy, idle",
     .explanation = "The same in three parts: some kernel computed, only other work went on, "
                    "nothing did.",
     .recorded_by = kByDevices},
    {.name = "device_utilization",
     .shows = Shows::kMarks,
     .description = "how busy devices were, and how busy sampling would say they were",
     .compute = DeviceUtilizationTable,
     .title = "Devices: busy, and seen busy",
     .explanation = "Busy time of the window, beside the share of samples in which anything ran, "
                    "as tools that sample show it: short work that comes often looks like a full "
                    "device.",
     .recorded_by = kByDevices},
    {.name = "kernel_types",
     .shows = Shows::kMarks,
     .description = "work on devices by the types that went on at once",
     .compute = KernelTypesTable,
     .title = "Devices: types of work at once",
     .explanation = "One row for every set of types that went on at the same instant.",
     .largest_by = "ns",
     .recorded_by = kByDevices},
    {.name = "comm_overlap",
     .shows = Shows::kMarks,
     .description = "communication on devices, and how much of it computation hid",
     .compute = CommOverlapTable,
     .title = "Devices: hidden communication",
     .explanation = "Time in which something communicated, and the part of it in which something "
                    "computed.",
     .recorded_by = kByDevices},
    {.name = "idle_causes",
     .shows = Shows::kMarks,
     .description = "why streams had nothing to do, by stream",
     .compute = IdleCausesTable,
     .title = "Why streams were idle",
     .explanation = "Gaps between the work of one stream. host_wait: the next work was launched "
                    "after the gap had begun; kernel_wait: a gap below 30 µs between work already "
                    "launched; other: a longer one.",
     .largest_by = "total_ns",
     .recorded_by = kByDevices},
    {.name = "kernels",
     .shows = Shows::kMarks,
     .description = "work on devices by name",
     .compute = KernelsTable,
     .title = "Kernels",
     .explanation = "Work on devices by name.",
     .largest_by = "total_ns",
     .unfolded = true,
     .recorded_by = kByDevices},
    {.name = "kernel_metrics",
     .shows = Shows::kMarks,
     .description = "what the device's performance counters said of kernels",
     .compute = KernelMetricsTable,
     .title = "Hardware metrics",
     .explanation = "What performance counters said of kernels, by name, or of all that ran in a "
                    "window: there where metrics were asked for.",
     .recorded_by = kByDevices},
    {.name = "launches",
     .shows = Shows::kMarks,
     .description = "calls that launched work: their time, its time, the delay between",
     .compute = LaunchesTable,
     .title = "Launches",
     .explanation = "Calls that launched work. Delay is from the call's end to the work's start; "
                    "short: the work took less time than the call; slow: a call above 50 µs; "
                    "late: a delay above 100 µs.",
     .largest_by = "host_ns",
     .recorded_by = kByDevices},
    {.name = "queue_length",
     .shows = Shows::kMarks,
     .description = "launches that waited for their stream",
     .compute = QueueLengthTable,
     .title = "Queues",
     .explanation = "Launches that waited for their stream, averaged over time.",
     .recorded_by = kByDevices},
    {.name = "copies",
     .shows = Shows::kMarks,
     .description = "copies and memory sets by kind, with bandwidth",
     .compute = CopiesTable,
     .title = "Copies and memory sets",
     .explanation = "By kind, with their bandwidth.",
     .largest_by = "total_ns",
     .recorded_by = kByDevices},
    {.name = "sequences",
     .shows = Shows::kOperators,
     .description = "kernels that operators launch in a row, again and again",
     .compute = SequencesTable,
     .title = "Sequences of kernels",
     .explanation = "Operators that launch three pieces of work or more, by what they launch.",
     .largest_by = "device_ns",
     .recorded_by = kByDevices},
    {.name = "device_events",
     .shows = Shows::kMarks,
     .description = "each event on a device, with the call that launched it",
     .compute = DeviceEventsTable,
     .long_one = true,
     .recorded_by = kByDevices},
    {.name = "device_waits",
     .shows = Shows::kMarks,
     .description = "calls that waited for a device, and for which work",
     .compute = DeviceWaitsTable,
     .long_one = true,
     .recorded_by = kByDevices},
};

}  // namespace

std::span<const TableEntry> DeviceTables() { return kTables; }

}  // namespace crosscut::analyze
