// Writes a trace in formats that other tools read. One entry per format in exporter.cc.
#pragma once

#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/export/sink.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

struct Exporter {
  const char* name;         // what --to= names
  const char* extension;    // usual end of the file's name
  const char* description;  // one line
  // Writes all of the trace but does not close the sink.
  Status (*write)(const trace::Trace& trace, Sink* sink);
};

std::span<const Exporter> Exporters();
const Exporter* FindExporter(std::string_view name);  // null: none

// exporters
// Chrome's trace event format with the categories and arguments that Kineto writes, so that
// Perfetto, chrome://tracing and HolisticTraceAnalysis open it. Times are microseconds with
// nanoseconds as decimals.
Status WriteChromeJson(const trace::Trace& trace, Sink* sink);
// The same for readers that know a launch by CUDA's name alone (HolisticTraceAnalysis, TraceLens):
// whatever launches a kernel is called cudaLaunchKernel, and so on; its own name is args.call.
Status WriteChromeJsonForCuda(const trace::Trace& trace, Sink* sink);
// Perfetto's protobuf: exact times, streams as tracks, interned names.
Status WritePerfetto(const trace::Trace& trace, Sink* sink);
// speedscope's file format: each track an evented profile, in ns from the first process's start.
// A Python function's frame has the file and line of its definition.
Status WriteSpeedscope(const trace::Trace& trace, Sink* sink);
// "frame;frame;frame NS": stacks of all threads added up, with the time of their innermost frame
// alone. With several processes the first frame is the process. A ";" in a name reads "_".
Status WriteCollapsed(const trace::Trace& trace, Sink* sink);
// The same for device work: the stack of the call that launched it, "(unlinked)" where it is not
// known, and the work's name, with how long it ran.
Status WriteCollapsedDevice(const trace::Trace& trace, Sink* sink);
// Samples: the Python stack, then the native function ("libx.so: f") or what the thread waited for,
// and the ns that the samples of the stack stand for. kNotFound where the trace has no samples.
Status WriteCollapsedSamples(const trace::Trace& trace, Sink* sink);
// An XSpace: a host plane per process, a plane per device. docs/xspace.md.
Status WriteXSpace(const trace::Trace& trace, Sink* sink);
// The same for a profile that TensorFlow takes itself: names and ids beside those of its planes.
Status WriteXSpaceBeside(const trace::Trace& trace, Sink* sink);

}  // namespace crosscut::exporting
