// Writes a trace in formats that other tools read. exporter.cc has an entry for each format.
#pragma once

#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/export/left_out.h"
#include "src/export/sink.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

struct Exporter {
  const char* name;  // the name for --to=
  // The ends of its files' names, the usual one first, with spaces between them. They choose the
  // format where --to= is not given; "": nothing chooses this one.
  const char* extensions;
  const char* description;  // one line
  // Writes all of the trace but does not close the sink. Returns what the file does not tell of it.
  Result<Gaps> (*write)(const trace::Trace& trace, Sink* sink);
};

std::span<const Exporter> Exporters();
const Exporter* FindExporter(std::string_view name);  // null: none
// The exporter whose files are called like `path` (by the longest end, ".gz" aside); null: none.
const Exporter* ExporterOfFile(std::string_view path);

// The functions of the exporters.
//
// Chrome's trace event format with the categories and arguments that Kineto writes, so that
// Perfetto, chrome://tracing and HolisticTraceAnalysis open it. Times are microseconds with
// nanoseconds as decimals.
Result<Gaps> WriteChromeJson(const trace::Trace& trace, Sink* sink);
// The same for readers that recognise a launch only by CUDA's name (HolisticTraceAnalysis,
// TraceLens). Any call that launches a kernel is called cudaLaunchKernel, and so on; args.call has
// its own name.
Result<Gaps> WriteChromeJsonForCuda(const trace::Trace& trace, Sink* sink);
// Perfetto's protobuf: exact times, streams as tracks, interned names.
Result<Gaps> WritePerfetto(const trace::Trace& trace, Sink* sink);
// speedscope's file format: each track is an evented profile, in ns from the first process's start.
// A Python function's frame has the file and line of its definition.
Result<Gaps> WriteSpeedscope(const trace::Trace& trace, Sink* sink);
// "frame;frame;frame NS": the stacks of all threads added up, with the time of their innermost
// frame alone. With several processes the first frame is the process. A ";" in a name reads "_".
Result<Gaps> WriteCollapsed(const trace::Trace& trace, Sink* sink);
// The same for device work: the stack of the call that launched it, or "(unlinked)" where that is
// not known, then the work's name, and how long it ran.
Result<Gaps> WriteCollapsedDevice(const trace::Trace& trace, Sink* sink);
// The same for samples: the Python stack, then the native function ("libx.so: f") and what the
// thread waited for, and the ns that the samples of the stack stand for. kNotFound where the trace
// has no samples.
Result<Gaps> WriteCollapsedSamples(const trace::Trace& trace, Sink* sink);
// pprof's profile.proto: the samples, with "samples" and "time"; of a trace without samples the
// spans' call paths, with "calls" and the "time" of the innermost frame alone. Labels: process,
// thread.
Result<Gaps> WritePprof(const trace::Trace& trace, Sink* sink);
// The spans, whether there are samples or not.
Result<Gaps> WritePprofSpans(const trace::Trace& trace, Sink* sink);
// An XSpace: a host plane for each process, a plane for each device. docs/xspace.md.
Result<Gaps> WriteXSpace(const trace::Trace& trace, Sink* sink);
// The same for a profile that TensorFlow takes itself, with names and ids that do not collide with
// those of its planes.
Result<Gaps> WriteXSpaceBeside(const trace::Trace& trace, Sink* sink);

}  // namespace crosscut::exporting
