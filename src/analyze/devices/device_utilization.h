// How busy devices were, and how busy they look to a tool that asks now and then whether anything
// runs (nvidia-smi's "GPU utilization", which is 100 % where each sample saw one short kernel).
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A row per length of samples, for each process with work on devices and, where there are several,
// for "(all)" of them, on their devices taken together: process, window_ns, busy_ns, busy_percent
// (100 * busy_ns / window_ns), sample_ns, samples (from the window's begin), busy_samples (in which
// any work ran, however short), sampled_percent (100 * busy_samples / samples).
Table DeviceUtilizationTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
