#include "src/analyze/verdict/line_samples.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

// Whether the function of "net.py:41 f.<locals>.<listcomp>" is one in a line of another one.
bool IsWithinLine(std::string_view line) {
  constexpr std::string_view kEnds[] = {"comp>", "<genexpr>", "<lambda>"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [line](std::string_view end) { return line.ends_with(end); });
}

// Whether the next sample says that the thread had no processor between the two, but for the least
// part: it is still where a sample before may have met it. The kernel counts a wait at its end.
bool HadNoProcessor(const std::vector<ThreadSample>& samples, size_t i) {
  if (i + 1 == samples.size()) return false;
  const int64_t until_next = samples[i + 1].at_ns - samples[i].at_ns;
  return 5 * samples[i + 1].run_delay_ns > 4 * until_next;
}

bool RunsPython(trace::Layer layer) {
  return layer == trace::Layer::kPython || layer == trace::Layer::kSimulator ||
         layer == trace::Layer::kData;
}

}  // namespace

LineSamples::LineSamples(const Context& context) {
  const trace::Trace& trace = context.trace();
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  for (uint32_t t = 0; t < facts.samples.size(); ++t) {
    if (facts.samples[t].empty()) continue;
    const trace::Interval life = LifeOf(trace, {t});
    LeadCursor cursor(trace, {t}, facts.doing, life);
    const trace::ProcessId process = trace.tracks[t].process;
    const WindowPart told = context.Shared<Accounting>().events[process.value].told;
    const std::vector<trace::Interval>& marks = facts.marks[process.value];
    for (size_t i = 0; i < facts.samples[t].size(); ++i) {
      const ThreadSample& sample = facts.samples[t][i];
      OfLine& line = lines_[sample.line][process.value];
      if (PartAt(context, process, sample.at_ns) == told) {
        line.covered_ns[sample.stack.value] += sample.covers_ns;
      }
      if (sample.at_ns < life.begin_ns || sample.at_ns >= life.end_ns) continue;
      const LeadStretch& state = cursor.At(sample.at_ns);
      // A wait for a processor comes where a step begins, in the line that ends the one before.
      if (state.layer == trace::Layer::kOverhead || state.doing == Doing::kPreempted) continue;
      if (HadNoProcessor(facts.samples[t], i)) continue;
      // A call that runs no Python or a library's, or a loop within the line. Calls are no spans
      // where the budget left steps out.
      const bool calls = state.name.valid() && !RunsPython(state.layer);
      const bool alone = calls || sample.in_library || IsWithinLine(trace.text(sample.line.text));
      const bool known = alone || LengthWithin(marks, sample.at_ns, sample.at_ns + 1) == 0;
      line.seen.push_back({sample.at_ns, t,
                           alone   ? OfLine::In::kAlone
                           : known ? OfLine::In::kTurns
                                   : OfLine::In::kNotKnown});
      const bool python = !calls && state.doing == Doing::kNothing && !sample.compiles &&
                          sample.runs && sample.code != Code::kNative;
      line.in_python += python;
      line.elsewhere += !python && (calls || !sample.locked);
    }
  }
}

}  // namespace crosscut::analyze
