// Hardware metrics: what a device's performance counters said of kernels, or of all that ran for a
// while (docs/cupti.md). They are arguments of the kernel's span, or of an instant called "Hardware
// metrics", beside the argument `metric_passes`; their names are NVIDIA's (`dram__bytes.sum`).
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// What a process's devices had to do for its metrics; it changes how long everything takes.
struct Measured {
  int64_t kernels = 0;  // that ran alone to be measured
  int64_t windows = 0;  // of all that ran
  int64_t passes = 0;   // the most that a kernel ran
};
// By ProcessId; zeros where nothing was measured.
std::vector<Measured> MeasuredIn(const trace::Trace& trace);

Table KernelMetricsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
