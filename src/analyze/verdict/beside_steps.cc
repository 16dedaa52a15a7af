#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/steps/window_parts.h"
#include "src/analyze/verdict/process_causes.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/analyze/verdict/tables.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

constexpr double kLeast = 0.01, kWorthSaying = 0.1;  // of the window

// An operation, or a line of the program.
struct Work {
  std::string name, what;
  struct Amount {
    int64_t ns = 0, low_ns = 0, high_ns = 0;  // as sure as samples make it
  };
  Amount observed;                      // in the part that verdicts speak of
  std::map<std::string, Amount> parts;  // in each other part of the window
  int64_t beside_ns = 0;                // in all of these
  int64_t more_ns = 0;                  // of that for certain, what is not as in the observed steps
  std::string most_in;
  std::string line;
  int64_t samples = kMissing;
};

// Steps that were left out do what the others do, and more.
bool IsOfSteps(std::string_view part) { return part == WindowPartName(WindowPart::kLeftOut); }

// Of what a control step does nothing is known, and it may be the last.
bool IsKnown(const ProcessEvents& events, std::string_view part, std::string_view layers) {
  if (part == WindowPartName(WindowPart::kControl)) return false;
  const bool ends_blind = events.stretches.back().known == Known::kNothing;
  return !ends_blind || part != WindowPartName(WindowPart::kShutdown) || layers != "control";
}

void Compare(const std::map<std::string, int64_t>& parts, const std::string& observed, Work* work) {
  const auto at = parts.find(observed);
  const double usual = at == parts.end() ? 0 : Share(work->observed.high_ns, at->second);
  int64_t most = 0;
  for (const auto& [part, amount] : work->parts) {
    const double expected = usual * static_cast<double>(parts.at(part));
    const int64_t known = IsOfSteps(part) ? static_cast<int64_t>(expected) : 0;
    const int64_t more = std::max<int64_t>(amount.low_ns - known, 0);
    work->beside_ns += amount.ns;
    work->more_ns += more;
    if (more > most) work->most_in = part, most = more;
  }
}

// Where samples saw the lead, beside the observed steps, in operations of these names.
class LinesOfOperations {
 public:
  LinesOfOperations(const Context& context, uint32_t process)
      : context_(context),
        trace_(context.trace()),
        process_(process),
        told_(context.Shared<Accounting>().events[process].told),
        samples_(context.Shared<ThreadFacts>().samples) {}

  void Find(std::vector<Work>* all) const {
    const trace::TrackId lead = trace_.processes[process_].lead;
    std::map<std::string_view, Work*> wanted;
    for (Work& work : *all) {
      if (work.what == "operation") wanted.emplace(work.name, &work);
    }
    if (wanted.empty() || lead.value >= samples_.size() || samples_[lead.value].empty()) return;
    const trace::Spans& spans = trace_.tracks[lead.value].spans;
    trace::OpenSpansByTrack open(trace_);
    trace::SpansAround operations(trace_, [&](trace::TrackId, trace::SpanIndex span) {
      return trace_.name(spans.name[span]).kind == trace::Kind::kOperation;
    });
    std::map<Work*, BlamedLines> lines;
    for (const ThreadSample& sample : samples_[lead.value]) {
      if (!MayBeBlamed(sample.line) || PartAt(context_, {process_}, sample.at_ns) == told_)
        continue;
      trace::SpanIndex span = open.of(lead).InnermostAt(sample.at_ns);
      while ((span = operations.Of(lead, span)) != trace::kNoSpan) {
        const auto work = wanted.find(trace_.name_text(spans.name[span]));
        if (work != wanted.end()) {
          lines[work->second][sample.line].Add({sample.covers_ns, 1, 0});
          break;
        }
        span = spans.parent[span];
      }
    }
    for (const auto& [work, of_work] : lines) {
      const auto most =
          std::max_element(of_work.begin(), of_work.end(),
                           [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
      work->line = LineText(trace_, most->first);
      work->samples = most->second.samples;
    }
  }

 private:
  const Context& context_;
  const trace::Trace& trace_;
  const uint32_t process_;
  const WindowPart told_;
  const std::vector<std::vector<ThreadSample>>& samples_;
};

// Lines of other parts are told with these.
bool MayBeTold(const Work& work) { return work.what == "operation" || IsOfSteps(work.most_in); }

std::string Sentence(const Work& work, int64_t window_ns, WindowPart told) {
  const bool all = work.parts.size() == 1, between = work.most_in.starts_with("between");
  const bool at_line = work.what == "operation" && !work.line.empty();
  return std::string(told == WindowPart::kSteps ? "Beside the observed steps "
                                                : "Beside requests ") +
         work.name + " takes " + TimeText(work.beside_ns) + ", " +
         ShareText(Share(work.beside_ns, window_ns)) +
         " of the window: " + (all ? "" : "most of it ") + (between ? "" : "in ") + work.most_in +
         (at_line ? ", at " + work.line : "") + ".";
}

}  // namespace

Table BesideStepsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& accounting = context.Shared<Accounting>();
  const Table all = PartWorkTable(trace, context);
  std::map<std::string, std::map<std::string, int64_t>> parts;  // by process
  std::map<std::string, std::map<std::pair<std::string, std::string>, Work>> works;
  std::map<std::string, std::string> observed;
  std::map<std::string, const ProcessEvents*> events;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const WindowPart told = accounting.events[p].told;
    if (Repeats(told)) observed[context.process_label({p})] = WindowPartName(told);
    events[context.process_label({p})] = &accounting.events[p];
  }
  for (size_t row = 0; row < all.rows(); ++row) {
    const std::string& process = all.texts("process")[row];
    const auto part_of = observed.find(process);
    if (part_of == observed.end()) continue;
    const std::string &part = all.texts("part")[row], &what = all.texts("what")[row];
    const int64_t ns = all.integers("ns")[row];
    parts[process][part] += ns;
    if (what != "operation" && what != "line") continue;
    if (!IsKnown(*events[process], part, all.texts("layers")[row])) continue;
    Work& work = works[process][{what, all.texts("work")[row]}];
    Work::Amount& amount = part == part_of->second ? work.observed : work.parts[part];
    const bool sampled = what == "line";
    amount.ns += ns;
    amount.low_ns += sampled ? all.integers("low_ns")[row] : ns;
    amount.high_ns += sampled ? all.integers("high_ns")[row] : ns;
  }
  TableRows table("beside_steps", Text("process"), Text("work"), Text("what"), Integer("ns"),
                  Integer("observed_ns"), Integer("more_ns"), Text("most_in"), Text("line"),
                  Integer("samples"), Text("finding"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::string& process = context.process_label({p});
    const auto of_process = works.find(process);
    if (of_process == works.end()) continue;
    const int64_t window_ns = accounting.processes[p].overlap.window_ns;
    std::vector<Work> found;
    for (auto& [key, work] : of_process->second) {
      std::tie(work.what, work.name) = key;
      Compare(parts[process], observed[process], &work);
      if (Share(work.more_ns, window_ns) >= kLeast) found.push_back(std::move(work));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Work& a, const Work& b) { return a.more_ns > b.more_ns; });
    LinesOfOperations(context, p).Find(&found);
    for (const Work& work : found) {
      const bool large = Share(work.more_ns, window_ns) >= kWorthSaying &&
                         2 * work.more_ns >= work.beside_ns && MayBeTold(work);
      table.Add(process, work.name, work.what, work.beside_ns, work.observed.ns, work.more_ns,
                work.most_in, work.line, work.samples,
                large ? Sentence(work, window_ns, accounting.events[p].told) : "");
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
