#include "src/verbs/info.h"

#include "src/base/shown_text.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"
#include "src/report/views.h"

namespace crosscut::verbs {
namespace {

using report::FormatCount;

std::string Shown(std::string_view text) { return base::ShownText(text); }

std::string Clean(const trace::Trace& trace, trace::StringId id) { return Shown(trace.text(id)); }

int64_t Length(const trace::Process& process) { return process.end_ns - process.start_ns; }

std::string ProcessLines(const trace::Trace& trace, const trace::TracksByProcess& all,
                         uint32_t index) {
  const trace::Process& process = trace.processes[index];
  int64_t tracks = 0, spans = 0, losses = 0;
  for (const uint32_t t : all.of({index})) {
    const trace::Track& track = trace.tracks[t];
    ++tracks;
    spans += static_cast<int64_t>(track.spans.size());
    for (const trace::Loss& loss : track.losses) {
      if (trace.text(loss.reason) != "names") losses += loss.count;  // which lose no events
    }
  }
  std::string out = Shown(trace.title({index})) + "\n  key       " + Clean(trace, process.key);
  if (process.parent.valid()) out += ", child of " + Shown(trace.title(process.parent));
  if (const auto method = Clean(trace, process.start_method); !method.empty()) {
    out += " (" + method + ")";
  }
  out += "\n  window    " + report::FormatNs(Length(process)) + ", " +
         (process.complete ? "complete" : "incomplete: " + Clean(trace, process.why_incomplete));
  const auto steps = static_cast<int64_t>(process.steps.size());
  out += "\n  holds     " + FormatCount(spans) + (spans == 1 ? " span, " : " spans, ") +
         FormatCount(tracks) + (tracks == 1 ? " track, " : " tracks, ") + FormatCount(steps) +
         (steps == 1 ? " step" : " steps");
  if (losses > 0) {
    out += "; " + FormatCount(losses) + (losses == 1 ? " event is missing" : " events are missing");
  }
  for (const auto& [key, value] : process.meta) {
    out += "\n  " + Clean(trace, key) + " = " + Clean(trace, value);
  }
  return out + "\n";
}

}  // namespace

Result<Output> Info(const std::string& path) {
  auto input = ReadInput(path);
  if (!input.ok()) return input.status();
  const trace::Trace& trace = (*input)->trace;
  Output output;
  output.incomplete = trace.damaged;
  if (!trace.command.empty()) {
    output.text += "command: " + report::CleanText(trace.command, report::kMaxPageSentence) + "\n";
  }
  for (const std::string& gap : trace.gaps) {
    output.text += "! " + report::CleanText(gap, report::kMaxPageSentence) + "\n";
  }
  const trace::TracksByProcess tracks(trace);
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    output.text += ProcessLines(trace, tracks, i);
  }
  return output;
}

}  // namespace crosscut::verbs
