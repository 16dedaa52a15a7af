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

void TellLeads(const trace::Trace& trace, const Context& context, std::vector<std::string>& out) {
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    const auto others = std::count_if(
        process.steps.begin(), process.steps.end(),
        [&](const trace::Step& step) { return step.track.valid() && step.track != process.lead; });
    if (others == 0) continue;
    out.push_back(std::to_string(others) + " of " + std::to_string(process.steps.size()) +
                  " steps of " + context.trace().title({p}) +
                  (others == 1 ? " was made by a thread other than the lead ("
                               : " were made by threads other than the lead (") +
                  context.track_label(process.lead) + "); " + (others == 1 ? "its" : "their") +
                  " time is split by the lead's operations.");
  }
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
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<trace::Step>& steps = trace.processes[p].steps;
    if (steps.empty() || steps.back().profiled()) continue;
    int64_t ns = 0;
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    for (const Cell& cell : overlap.cells) {
      if (cell.part == WindowPart::kShutdown && (cell.layers & kControlBit) != 0) ns += cell.ns;
    }
    if (ns < kLeast || static_cast<double>(ns) < kLeastShare * overlap.window_ns) continue;
    out.push_back(trace::Seconds(ns) + " of " + context.trace().title({p}) +
                  " after its last step are not known by layer: " +
                  (steps.back().left_out()
                       ? "the budget left out that step, and all but marks stays off"
                       : "that was a control step, and all probes stay off") +
                  " until the next one.");
  }
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
