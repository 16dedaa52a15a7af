#include "src/analyze/verdict/rank_lines.h"

#include <algorithm>

#include "src/trace/samples.h"

namespace crosscut::analyze {

LeadWork LeadWorkIn(const Context& context, trace::ProcessId process,
                    const std::vector<trace::Interval>& times, const std::vector<Doing>& doing) {
  const trace::Trace& trace = context.trace();
  const trace::Process& owner = trace.processes[process.value];
  LeadWork work;
  if (owner.lead.value >= trace.tracks.size()) return work;
  LeadCursor lead(trace, owner.lead, doing, {owner.start_ns, owner.end_ns});
  for (const trace::Interval& time : times) {
    const int64_t time_ends = std::min(time.end_ns, owner.end_ns);
    for (int64_t at = std::max(time.begin_ns, owner.start_ns); at < time_ends;) {
      const LeadStretch& stretch = lead.At(at);
      const int64_t end = std::min(stretch.end_ns, time_ends);
      if (stretch.name.valid()) work.names[stretch.name.value] += end - at;
      at = end;
    }
  }
  const trace::SampleReader reader(trace.strings);
  if (!reader.any()) return work;
  size_t next = 0;
  reader.ForEach(trace, trace.tracks[owner.lead.value],
                 [&](int64_t at_ns, const trace::Sample& sample) {
                   if (sample.thread != 0 || !sample.own_line.valid()) return;
                   while (next < times.size() && times[next].end_ns <= at_ns) ++next;
                   if (next == times.size() || times[next].begin_ns > at_ns) return;
                   Blamed& blamed = work.lines[sample.own_line];
                   blamed.ns += sample.covers_ns;
                   ++blamed.samples;
                 });
  return work;
}

}  // namespace crosscut::analyze
