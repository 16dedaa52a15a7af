#include <algorithm>
#include <map>
#include <string>

#include "src/export/exporter.h"
#include "src/trace/samples.h"

namespace crosscut::exporting {
namespace {

// A frame must not look like two.
std::string Frame(std::string text) {
  std::replace(text.begin(), text.end(), ';', '_');
  std::replace(text.begin(), text.end(), '\n', '_');
  return text;
}

// ns by stack, of one process.
using Stacks = std::map<std::string, int64_t>;

void AddTrack(const trace::Trace& trace, const trace::SampleReader& reader,
              const trace::Track& track, Stacks* stacks) {
  reader.ForEach(trace, track, [&](int64_t, const trace::Sample& sample) {
    const std::string library(trace.text(sample.library)), function(trace.text(sample.function));
    std::string stack(sample.stack.valid() ? trace.text(sample.stack) : "(no Python)");
    if (!library.empty()) {
      stack += ";" + Frame(function.empty() ? library : library + ": " + function);
    }
    if (sample.waits.valid()) {
      stack += ";" + Frame("(waits for " + std::string(trace.text(sample.waits)) + ")");
    }
    (*stacks)[stack] += sample.covers_ns;
  });
}

}  // namespace

Status WriteCollapsedSamples(const trace::Trace& trace, Sink* sink) {
  const trace::SampleReader reader(trace.strings);
  if (!reader.any()) {
    return Status::NotFound("this run has no samples: record with --python=samples");
  }
  const trace::TracksByProcess tracks(trace);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    Stacks stacks;
    for (const uint32_t t : tracks.of({p})) AddTrack(trace, reader, trace.tracks[t], &stacks);
    const std::string name = Frame(std::string(trace.text(trace.processes[p].key)));
    const std::string root = trace.processes.size() < 2 ? "" : name + ";";
    std::string text;
    for (const auto& [stack, ns] : stacks) {
      if (ns > 0) text += root + stack + " " + std::to_string(ns) + "\n";
    }
    if (Status status = sink->Write(text); !status.ok()) return status;
  }
  return {};
}

}  // namespace crosscut::exporting
