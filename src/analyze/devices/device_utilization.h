// How busy devices were, and how busy they look to a tool that checks at intervals whether anything
// ran (nvidia-smi's "GPU utilization", which is 100 % where each sample has one short kernel).
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// process, window_ns, busy_ns, busy_percent (100 * busy_ns / window_ns), sample_ns, samples (from
// the window's begin), busy_samples (those in which any work ran, however short), sampled_percent
// (100 * busy_samples / samples). A row for each length of samples and each process with work on
// devices. Where there are several processes, "(all)" takes their devices together and stands
// first.
Table DeviceUtilizationTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
