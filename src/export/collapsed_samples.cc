#include <map>
#include <string>

#include "src/export/exporter.h"
#include "src/export/stack_lines.h"
#include "src/trace/samples.h"

namespace crosscut::exporting {
namespace {

// ns by stack, of one process.
using Stacks = std::map<std::string, int64_t>;

void AddTrack(const trace::Trace& trace, const trace::SampleReader& reader,
              const trace::Track& track, Stacks* stacks) {
  reader.ForEach(trace, track, [&](int64_t, const trace::Sample& sample) {
    const std::string library(trace.text(sample.library)), function(trace.text(sample.function));
    std::string stack = StackFrame(
        std::string(sample.stack.valid() ? trace.text(sample.stack) : "(no Python)"), true);
    if (!library.empty()) {
      stack += ";" + StackFrame(function.empty() ? library : library + ": " + function);
    }
    if (sample.waits.valid()) {
      stack += ";" + StackFrame("(waits for " + std::string(trace.text(sample.waits)) + ")");
    }
    (*stacks)[stack] += sample.covers_ns;
  });
}

}  // namespace

Result<Gaps> WriteCollapsedSamples(const trace::Trace& trace, Sink* sink) {
  const trace::SampleReader reader(trace.strings);
  if (!reader.any()) {
    return Status::NotFound("this run has no samples: record with --python=samples");
  }
  const trace::TracksByProcess tracks(trace);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    Stacks stacks;
    for (const uint32_t t : tracks.of({p})) AddTrack(trace, reader, trace.tracks[t], &stacks);
    const std::string root = ProcessFrame(trace, p);
    std::string text;
    for (const auto& [stack, ns] : stacks) {
      if (ns > 0) text += root + stack + " " + std::to_string(ns) + "\n";
    }
    if (Status status = sink->Write(text); !status.ok()) return status;
  }
  return GapsOf(trace, kSamples);
}

}  // namespace crosscut::exporting
