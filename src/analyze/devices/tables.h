// The tables of devices and of the work on them. docs/analyses.md defines each.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// How devices spent their time, by process: the tables device_timeline, temporal_breakdown,
// kernel_types, comm_overlap, kernels, copies, device_events. All times are those of the devices'
// own events; a process's devices and streams are taken together.

Table DeviceTimelineTable(const trace::Trace& trace, const Context& context);
Table TemporalBreakdownTable(const trace::Trace& trace, const Context& context);
Table KernelTypesTable(const trace::Trace& trace, const Context& context);
Table CommOverlapTable(const trace::Trace& trace, const Context& context);
Table KernelsTable(const trace::Trace& trace, const Context& context);
Table CopiesTable(const trace::Trace& trace, const Context& context);
// A row for each event, for questions that no other table answers.
Table DeviceEventsTable(const trace::Trace& trace, const Context& context);

// How work came to devices: the tables idle_causes, launches, queue_length.

// By stream and cause: the gaps between its work.
Table IdleCausesTable(const trace::Trace& trace, const Context& context);
// By process and name of the launching call.
Table LaunchesTable(const trace::Trace& trace, const Context& context);
// By stream: how many launches waited for it.
Table QueueLengthTable(const trace::Trace& trace, const Context& context);

// Device time by the operations that launched it.
// process, launch_operations, ns: the time, without pauses, in which a device of the process was
// busy, by the set of operations whose work ran. The operation is the innermost one on the
// launching thread when the arrow into the device span left it, or, where that thread had none, on
// the lead at that time. Names are sorted and joined by "+"; "(none)" is work launched outside
// every operation, "(unlinked)" is time in which no arrow led into any span that ran. The rows sum
// to the device-busy time of the process. Work inherits the launch of the span around it.
Table DeviceByLaunchTable(const trace::Trace& trace, const Context& context);

// How busy devices were, and how busy they look to a tool that checks at intervals whether anything
// ran (nvidia-smi's "GPU utilization", which is 100 % where each sample has one short kernel).
// process, window_ns, busy_ns, busy_percent (100 * busy_ns / window_ns), sample_ns, samples (from
// the window's begin), busy_samples (those in which any work ran, however short), sampled_percent
// (100 * busy_samples / samples). A row for each length of samples and each process with work on
// devices. Where there are several processes, "(all)" takes their devices together and stands
// first.
Table DeviceUtilizationTable(const trace::Trace& trace, const Context& context);

// Which kernels are launched in a row again and again: the table sequences.
// operator, kernels, length, count, host_ns (the lengths of the operators), device_ns (those of
// their work): the outermost operators of layer framework that launch three pieces of work or more,
// by their names and by what they launch, in the order of the launches. The hundred rows with the
// most device_ns.
Table SequencesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
