// The sentences that stand above every number.
#include "src/analyze/gaps.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/columns.h"
#include "src/analyze/context.h"
#include "src/analyze/devices/graph_launches.h"
#include "src/analyze/devices/kernel_metrics.h"
#include "src/base/counted.h"
#include "src/trace/gaps.h"

namespace crosscut::analyze {
namespace {

// Of several processes: the sum, or the most.
struct Of {
  int64_t all = 0, some = 0;
  uint64_t processes = 0;
  uint32_t first = 0;
  void Count(uint32_t process) {
    if (processes++ == 0) first = process;
  }
};

void TellLeads(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  Of steps;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    const auto others = std::count_if(
        process.steps.begin(), process.steps.end(),
        [&](const trace::Step& step) { return step.track.valid() && step.track != process.lead; });
    if (others == 0) continue;
    steps.Count(p);
    steps.all += static_cast<int64_t>(process.steps.size());
    steps.some += others;
  }
  if (steps.processes == 0) return;
  const std::string& lead = context.track_label(trace.processes[steps.first].lead);
  out.push_back(std::to_string(steps.some) + " of " + std::to_string(steps.all) + " steps of " +
                trace::Whose(steps.processes, trace.title({steps.first})) +
                (steps.some == 1 ? " was made by a thread other than the lead ("
                                 : " were made by threads other than the lead (") +
                lead + (steps.processes == 1 ? "); " : " there); ") +
                (steps.some == 1 ? "its" : "their") + " time is split by the lead's operations.");
}

// Nobody expects a rank that is alone to be compared, nor a send with a collective.
void TellUnmatched(const Context& context, std::vector<std::string>& out) {
  std::map<NotMatched, int64_t> counts;
  std::set<uint32_t> processes;
  int64_t all = 0;
  for (const Unmatched& u : context.Shared<Collectives>().unmatched) {
    if (u.why == NotMatched::kPair) continue;
    counts[u.why] += u.count;
    all += u.count;
  }
  for (const CollectiveCall& call : context.Shared<CollectiveCalls>().calls) {
    processes.insert(call.process.value);
  }
  if (all == 0 || processes.size() < 2) return;
  std::string reasons;
  for (const auto& [why, count] : counts) {
    reasons += (reasons.empty() ? "" : ", ") + std::string(NotMatchedName(why)) + " (" +
               std::to_string(count) + ")";
  }
  out.push_back(std::to_string(all) + (all == 1 ? " call" : " calls") +
                " of collectives could not be compared between ranks: " + reasons +
                ". What was waited in them is not told (table unmatched_collectives).");
}

// Whether a scope of PyTorch's that was seen begins in one step of its process and ends in another.
bool ScopesCrossSteps(const trace::Trace& trace, const trace::Track& track,
                      const std::vector<trace::Step>& steps) {
  for (size_t i = 0; i < track.spans.size(); ++i) {
    if (trace.text(trace.names[track.spans.name[i].value].probe) != "scope") continue;
    const auto next =
        std::upper_bound(steps.begin(), steps.end(), track.spans.begin_ns[i],
                         [](int64_t at, const trace::Step& step) { return at < step.begin_ns; });
    if (next != steps.end() && next->begin_ns < track.spans.end_ns[i]) return true;
  }
  return false;
}

void TellGraphs(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  const GraphLaunches& launches = context.Shared<GraphLaunches>();
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto& [all, without_work] = launches.processes[p];
    if (without_work == 0) continue;
    out.push_back(
        base::Counted(static_cast<uint64_t>(without_work),
                      "{launch of a graph has|launches of graphs have} no recorded work") +
        ", of " + std::to_string(all) + " in " + context.trace().title({p}) +
        ": its devices may work where they seem to do nothing, so no finding speaks of "
        "that.");
  }
}

void TellMetrics(const trace::Trace& trace, std::vector<std::string>& out) {
  trace::ByProcess sentences;
  const std::vector<Measured> measured = MeasuredIn(trace);
  for (uint32_t p = 0; p < measured.size(); ++p) {
    if (measured[p].kernels + measured[p].windows == 0) continue;
    std::string how;
    if (measured[p].kernels != 0) how = ", for which each kernel ran alone";
    if (measured[p].passes > 1)
      how += " and up to " + std::to_string(measured[p].passes) + " times";
    sentences.Add(trace.title({p}), "Hardware metrics were read in ",
                  how + ": times of this run are not comparable with those of others.");
  }
  sentences.Tell(&out);
}

// In control steps nothing sees a scope begin. That hides none but those steps' own, unless scopes
// last over steps.
void TellScopes(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  trace::ByProcess sentences;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<trace::Step>& steps = trace.processes[p].steps;
    const auto control = std::count_if(steps.begin(), steps.end(),
                                       [](const trace::Step& step) { return step.control(); });
    const auto tracks = context.tracks().of({p});
    const bool crossed = control > 0 && std::any_of(tracks.begin(), tracks.end(), [&](uint32_t t) {
                           return ScopesCrossSteps(trace, trace.tracks[t], steps);
                         });
    if (!crossed) continue;
    sentences.Add(trace.title({p}), "Scopes of PyTorch that last over several steps of ",
                  " are not seen if they began in a control step (" + std::to_string(control) +
                      (control == 1 ? " step is a control step)." : " steps are control steps)."));
  }
  sentences.Tell(&out);
}

// Probes that are off for the last step stay off: whatever the program does after its loop.
void TellAfterSteps(const trace::Trace& trace, const Context& context,
                    std::vector<std::string>& out) {
  constexpr int64_t kLeast = 100'000'000;
  constexpr double kLeastShare = 0.05;
  Of left_out, control;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<trace::Step>& steps = trace.processes[p].steps;
    if (steps.empty() || steps.back().profiled()) continue;
    int64_t ns = 0;
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    for (const Cell& cell : overlap.cells) {
      if (cell.part == WindowPart::kShutdown && (cell.layers & kControlBit) != 0) ns += cell.ns;
    }
    if (ns < kLeast || static_cast<double>(ns) < kLeastShare * overlap.window_ns) continue;
    Of& of = steps.back().left_out() ? left_out : control;
    of.Count(p);
    of.some = std::max(of.some, ns);
  }
  const auto tell = [&](const Of& of, std::string_view why) {
    if (of.processes == 0) return;
    out.push_back((of.processes == 1 ? "" : "Up to ") + trace::Seconds(of.some) + " of " +
                  trace::Whose(of.processes, trace.title({of.first})) +
                  base::WordsFor(of.processes,
                                 " after {its last step|their last steps} are not "
                                 "known by layer: ") +
                  base::WordsFor(of.processes, why) + " until the next one.");
  };
  tell(left_out, "the budget left out {that step|those steps}, and all but marks stays off");
  tell(control, "{that was a control step|those were control steps}, and all probes stay off");
}

void TellCorrection(const trace::Trace& trace, const Context& context,
                    std::vector<std::string>& out) {
  trace::ByProcess sentences;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (trace.processes[i].steps.empty() || trace.processes[i].probes.empty()) continue;
    const Inflation& inflation = context.Shared<Accounting>().processes[i].inflation;
    if (inflation.checked) continue;
    sentences.Add(trace.title({i}), "What recording cost ",
                  " is estimated, not checked against control steps (" + inflation.why_not + ").");
  }
  sentences.Tell(&out);
}

}  // namespace

std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context) {
  std::vector<std::string> out = trace::Gaps(trace);
  TellUnmatched(context, out);
  TellLeads(trace, context, out);
  TellGraphs(trace, context, out);
  TellMetrics(trace, out);
  TellScopes(trace, context, out);
  TellAfterSteps(trace, context, out);
  TellCorrection(trace, context, out);
  return out;
}

}  // namespace crosscut::analyze
