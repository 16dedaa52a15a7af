#include "src/analyze/overhead.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace crosscut::analyze {
namespace {

constexpr LayerSet kOursAlone = Bit(trace::Layer::kOverhead);

// The part of a step's measured excess that the probes must explain, relative to their estimate.
double ScaleAt(const Inflation& inflation, double ratio) {
  const double excess = inflation.step_ns * (1 - 1 / ratio) - inflation.timed_ns;
  return std::max(0.0, excess / inflation.estimated_ns);
}

// `exact` in whole numbers with the sum `total`: floors, then one more to the largest remainders.
std::vector<int64_t> WholeNumbers(const std::vector<double>& exact, int64_t total) {
  std::vector<int64_t> whole(exact.size());
  std::vector<uint32_t> order(exact.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < exact.size(); ++i) {
    whole[i] = static_cast<int64_t>(std::floor(exact[i]));
    total -= whole[i];
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return exact[a] - std::floor(exact[a]) > exact[b] - std::floor(exact[b]);
  });
  for (size_t i = 0; i < order.size() && total > 0; ++i, --total) ++whole[order[i]];
  return whole;
}

}  // namespace

Scale ScaleOf(const Inflation& inflation, const Scale& calibrated) {
  if (!inflation.checked || inflation.estimated_ns <= 0) return calibrated;
  return {ScaleAt(inflation, inflation.ratio), ScaleAt(inflation, inflation.low),
          ScaleAt(inflation, inflation.high)};
}

Correction Correct(const std::vector<Cell>& cells, double scale) {
  std::vector<double> exact(cells.size());
  double sum = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].layers == kOursAlone) {
      exact[i] = static_cast<double>(cells[i].ns);
    } else if (cells[i].layers != kControlBit) {
      exact[i] = scale * static_cast<double>(cells[i].probe_ps) / 1000;
    }
    sum += exact[i];
  }
  Correction out;
  out.estimated_ns = std::llround(sum);
  const std::vector<int64_t> estimates = WholeNumbers(exact, out.estimated_ns);
  out.estimated_ns = std::accumulate(estimates.begin(), estimates.end(), int64_t{0});
  for (size_t i = 0; i < cells.size(); ++i) {
    const int64_t left = cells[i].ns - estimates[i];
    out.corrected_ns.push_back(std::max<int64_t>(0, left));
    out.unplaced_ns += std::max<int64_t>(0, -left);
  }
  return out;
}

std::vector<StepSample> SampleSteps(const trace::Process& process, const ProcessEvents& events,
                                    const ProcessOverlap& overlap) {
  std::vector<StepSample> samples(process.steps.size());
  for (const StepCell& cell : overlap.steps) {
    StepSample& s = samples[cell.step];
    s.ns += cell.ns;
    s.probe_ps += cell.probe_ps;
    if (cell.layers == kOursAlone) s.timed_ns += cell.ns;
  }
  std::vector<StepSample> out;
  auto pause = events.pauses.begin();
  for (size_t i = 0; i < samples.size(); ++i) {
    const trace::Step& step = process.steps[i];
    StepSample& s = samples[i];
    s.kind = step.kind.value;
    s.level = step.level;
    while (pause != events.pauses.end() && pause->end_ns <= step.begin_ns) ++pause;
    const bool paused = pause != events.pauses.end() && pause->begin_ns < step.end_ns;
    // A step that ends with the process holds what came after the loop.
    const bool last = step.end_ns >= process.end_ns;
    s.counts = !step.after_switch && !paused && !last && s.ns > 0;
    out.push_back(s);
  }
  return out;
}

}  // namespace crosscut::analyze
