#include "src/analyze/accounting/accounting.h"

#include <algorithm>
#include <cmath>

#include "src/analyze/accounting/wander.h"

namespace crosscut::analyze {
namespace {

// How many operations begin in a step that has them recorded, on average; of all threads.
double OperationsPerStep(const trace::Trace& trace, const Accounting& a, uint32_t process) {
  const std::vector<trace::Step>& steps = trace.processes[process].steps;
  const auto known = [](const trace::Step& step) { return !step.control() && !step.open; };
  const auto count = std::count_if(steps.begin(), steps.end(), known);
  int64_t operations = 0;
  for (const uint32_t t : a.tracks[process].host) {
    const trace::Spans& spans = trace.tracks[t].spans;
    trace::Continuations continuations(spans);
    auto step = steps.begin();
    for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
      const bool counted = continuations.Has(s);
      if (counted || a.names.codes[spans.name[s].value].scope == 0) continue;
      while (step != steps.end() && step->end_ns <= spans.begin_ns[s]) ++step;
      if (step == steps.end()) break;
      operations += step->begin_ns <= spans.begin_ns[s] && known(*step);
    }
  }
  return count == 0 ? 0 : static_cast<double>(operations) / static_cast<double>(count);
}

// The bounds of all probes on the critical path, relative to their sum.
Calibration Calibrated(const trace::Process& process, const ProbeCosts& costs,
                       const ProcessOverlap& overlap) {
  double middle = 0, low = 0, high = 0;
  for (size_t i = 1; i < overlap.probes.size(); ++i) {
    const auto one = static_cast<double>(costs[i].inside_ps + costs[i].outside_ps);
    if (one <= 0) continue;
    const double events = static_cast<double>(overlap.probes[i].in_cells_ps) / one;
    middle += events * one;
    low += events * static_cast<double>(costs[i].low_ps);
    high += events * static_cast<double>(costs[i].high_ps);
  }
  const bool whole = !process.profiled_beside;
  if (middle <= 0) return {1, 1, whole};
  return {std::clamp(low / middle, 0.01, 1.0), std::clamp(high / middle, 1.0, 100.0), whole};
}

// Puts how far what no control step shows may be off, over all probes on the critical path.
void BoundUnswitched(const ProbeCosts& costs, const ProcessOverlap& overlap, Estimates* estimates) {
  double middle = 0, low = 0, high = 0;
  for (size_t i = 1; i < overlap.probes.size(); ++i) {
    if (costs[i].unswitched_ps <= 0) continue;
    const auto ps = static_cast<double>(overlap.probes[i].unswitched_in_cells_ps);
    const double events = ps / static_cast<double>(costs[i].unswitched_ps);
    middle += ps;
    low += events * static_cast<double>(costs[i].unswitched_low_ps);
    high += events * static_cast<double>(costs[i].unswitched_high_ps);
  }
  if (middle <= 0) return;
  estimates->low.unswitched = std::clamp(low / middle, 0.0, 1.0);
  estimates->high.unswitched = std::max(high / middle, 1.0);
}

// What that is in a profiled step, on average.
void AddUnswitched(const trace::Process& process, const ProcessOverlap& overlap,
                   const Estimates& estimates, Inflation* inflation) {
  double ps = 0;
  int64_t steps = 0;
  for (const StepCell& cell : overlap.steps) {
    if (!process.steps[cell.step].control()) ps += static_cast<double>(cell.unswitched_ps);
  }
  for (const trace::Step& step : process.steps) steps += !step.control();
  if (steps == 0) return;
  const double ns = ps / 1000 / static_cast<double>(steps);
  inflation->unswitched_ns = estimates.value.unswitched * ns;
  inflation->unswitched_low_ns = estimates.low.unswitched * ns;
  inflation->unswitched_high_ns = estimates.high.unswitched * ns;
}

ProcessAccount Account(const trace::Trace& trace, const Accounting& a, uint32_t process) {
  const trace::Process& p = trace.processes[process];
  ProcessAccount out;
  out.overlap = ComputeOverlap(trace, a.names, a.tracks[process], a.events[process],
                               trace::ProcessId{process});
  const std::vector<StepSample> steps = SampleSteps(p, a.events[process], out.overlap);
  out.inflation = MeasureInflation(steps);
  if (out.inflation.checked) out.inflation.operations = OperationsPerStep(trace, a, process);
  out.wander = Wander(steps);
  out.spread = Combined(kLayoutSpread, out.wander);
  const ProbeCosts costs = CostsOf(p, a.names);
  out.scale = ScaleOf(out.inflation, Calibrated(p, costs, out.overlap));
  out.estimates = EstimatesOf(out.inflation, out.scale, p, out.overlap);
  BoundUnswitched(costs, out.overlap, &out.estimates);
  AddUnswitched(p, out.overlap, out.estimates, &out.inflation);
  out.correction = Correct(out.overlap.cells, out.estimates.value);
  out.low = Correct(out.overlap.cells, out.estimates.high);
  out.high = Correct(out.overlap.cells, out.estimates.low);
  return out;
}

}  // namespace

std::vector<Cell> CellsByOperation(const ProcessAccount& account) {
  Cells sums;
  for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
    Cell cell = account.overlap.cells[i];
    cell.found = 0;
    cell.probe_ps = account.correction.corrected_ns[i];
    sums.Add(cell);
  }
  return sums.all();
}

Accounting::Accounting(const trace::Trace& trace)
    : names(trace),
      tracks(TracksByProcess(trace)),
      requests(trace::RequestsByProcess(trace)),
      own(kMaxProbes + 1) {
  events.reserve(trace.processes.size());
  processes.reserve(trace.processes.size());
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    std::vector<trace::Interval> served = trace::Served(requests[p]);
    if (!trace::IsServer(trace, {p}, served)) served.clear();
    events.emplace_back(trace.processes[p], served);
  }
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    processes.push_back(Account(trace, *this, p));
    for (const uint32_t t : tracks[p].ours) {
      const trace::Spans& spans = trace.tracks[t].spans;
      for (size_t s = 0; s < spans.size(); ++s) {
        OwnWork& work = own[names.codes[spans.name[s].value].probe];
        ++work.count;
        work.ns += spans.end_ns[s] - spans.begin_ns[s];
      }
    }
  }
}

}  // namespace crosscut::analyze
