#include "src/analyze/accounting/overhead.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace crosscut::analyze {
namespace {

// What the scale of a program is before anything was compared: calibration runs warm, programs do
// not. A log-normal distribution; docs/accounting.md 5 has the measurements behind it.
constexpr double kUsualScale = 3;
constexpr double kUsualSpread = 0.8;  // standard deviation of its logarithm

constexpr double kSmallest = 1e-3, kLargest = 1e3;
constexpr int kGrid = 4000;  // points between them, 0.35 % apart
constexpr double kQuantile95 = 1.96;
constexpr double kWidth95 = 2 * kQuantile95;

// The part of a step's measured excess that the probes must explain, relative to their estimate.
template <class Compared>
double ScaleAt(const Compared& compared, double ratio) {
  const double excess = compared.step_ns * (1 - 1 / ratio) - compared.timed_ns;
  return excess / compared.estimated_ns;
}

struct Measured {
  double value = 0, error = 0;  // error 0: nothing was measured
};
template <class Compared>
Measured ScaleOfOne(const Compared& compared) {
  const double width = ScaleAt(compared, compared.high) - ScaleAt(compared, compared.low);
  return {ScaleAt(compared, compared.ratio), width / kWidth95};
}

// Levels whose probes cost much tell the scale best. They share the control steps, so their errors
// are taken to go together.
Measured ScaleOfLevels(const Inflation& inflation) {
  double weights = 0;
  Measured out;
  for (const LevelInflation& level : inflation.levels) {
    if (IsSwitchArm(level.level) || level.estimated_ns <= 0) continue;
    const Measured one = ScaleOfOne(level);
    const double weight = 1 / (one.error * one.error);
    weights += weight;
    out.value += weight * one.value;
    out.error += weight * one.error;
  }
  if (weights == 0) return ScaleOfOne(inflation);
  return {out.value / weights, out.error / weights};
}

// Quantiles of the product of the usual distribution and a measurement `at` +- `error`, either of
// which may be missing. Without the usual one each scale above 0 is as likely as any other.
Scale Posterior(bool usual, double spread, Measured of) {
  std::vector<double> sum(kGrid + 1);
  const double step = std::log(kLargest / kSmallest) / kGrid;
  const auto scale = [&](int i) { return kSmallest * std::exp(i * step); };
  // Relative to the best of them, so that a measurement far from the usual does not underflow.
  std::vector<double> log_weight(kGrid);
  for (int i = 0; i < kGrid; ++i) {
    const double from_usual = std::log(scale(i) / kUsualScale) / spread;
    const double measured = of.error > 0 ? (scale(i) - of.value) / of.error : 0;
    // The grid is even in the logarithm: what is even in the scale grows on it.
    log_weight[i] =
        (usual ? -0.5 * from_usual * from_usual : std::log(scale(i))) - 0.5 * measured * measured;
  }
  const double best = *std::max_element(log_weight.begin(), log_weight.end());
  for (int i = 0; i < kGrid; ++i) sum[i + 1] = sum[i] + std::exp(log_weight[i] - best);
  const auto quantile = [&](double q) {
    const auto end = std::lower_bound(sum.begin() + 1, sum.end(), q * sum.back());
    const auto i = static_cast<int>(end - sum.begin()) - 1;
    const double within = (q * sum.back() - sum[i]) / (sum[i + 1] - sum[i]);
    return kSmallest * std::exp((i + within - 0.5) * step);
  };
  return {quantile(0.5), quantile(0.025), quantile(0.975)};
}

// All first steps after a switch of one sort.
struct Switched {
  double ns = 0, timed_ns = 0, probe_ns = 0;  // ns: without what was timed
};

// The part of their time that a switch took, where they took `ratio` times what they would have.
double SwitchPart(const Switched& of, double ratio, double scale) {
  const double excess = (of.ns + of.timed_ns) * (1 - 1 / ratio);
  const double left = excess - of.timed_ns - scale * of.probe_ns;
  return of.ns > 0 ? std::clamp(left / of.ns, 0.0, 1.0) : 0;
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

Scale ScaleOf(const Inflation& inflation, const Calibration& calibration) {
  const double calibrated = std::log(calibration.high / calibration.low) / kWidth95;
  const double spread = Combined(kUsualSpread, calibrated);
  if (!inflation.checked || inflation.estimated_ns <= 0) {
    // Once for all processes without probes, of which a trace may have very many.
    static const Scale kUsual = Posterior(true, kUsualSpread, {});
    return calibrated == 0 ? kUsual : Posterior(true, spread, {});
  }
  const Measured measured = ScaleOfLevels(inflation);
  return Posterior(calibration.whole || measured.error <= 0, spread, measured);
}

Estimates EstimatesOf(const Inflation& inflation, const Scale& scale, const trace::Process& process,
                      const ProcessOverlap& overlap) {
  Switched after, control;
  double unswitched = 0, profiled = 0;
  for (const StepCell& cell : overlap.steps) {
    if (!process.steps[cell.step].control() && cell.layers != kOursAlone) {
      unswitched += static_cast<double>(cell.unswitched_ps) / 1000;
      profiled += static_cast<double>(cell.ns);
      profiled -= scale.value * static_cast<double>(cell.probe_ps) / 1000;
    }
    if (!process.steps[cell.step].after_switch) continue;
    Switched& sum = process.steps[cell.step].control() ? control : after;
    (cell.layers == kOursAlone ? sum.timed_ns : sum.ns) += static_cast<double>(cell.ns);
    sum.probe_ns += static_cast<double>(cell.probe_ps) / 1000;
  }
  Estimates out = {{scale.value}, {scale.low}, {scale.high}};
  const double in_control = profiled > 0 ? std::min(1.0, unswitched / profiled) : 0;
  for (Estimate* one : {&out.value, &out.low, &out.high}) one->in_control = in_control;
  if (inflation.checked) {
    out.high.floor = ControlFloor(inflation) * inflation.control_step_ns / inflation.step_ns;
  }
  for (const LevelInflation& level : inflation.levels) {
    if (!IsSwitchArm(level.level)) continue;
    const bool to_control = level.level == kToControlArm;
    const auto put = [&](double ratio, Estimate& in) {
      (to_control ? in.to_control : in.after_switch) =
          SwitchPart(to_control ? control : after, ratio, in.scale);
    };
    put(level.ratio, out.value);
    put(level.low, out.low);
    put(level.high, out.high);
  }
  return out;
}

Bounds OfUnrecordedRun(int64_t corrected, Bounds of_scale, double spread) {
  return of_scale.low == of_scale.high ? of_scale : OfSeparateRun(corrected, of_scale, spread);
}

Bounds OfSeparateRun(int64_t corrected, Bounds of_scale, double spread) {
  const auto middle = static_cast<double>(corrected);
  const auto away = [&](int64_t bound) {
    return Combined(static_cast<double>(bound) - middle, kQuantile95 * spread * middle);
  };
  return {std::max<int64_t>(0, std::llround(middle - away(of_scale.low))),
          std::llround(middle + away(of_scale.high))};
}

double SwitchedShare(const Estimate& estimate, const Cell& cell) {
  return cell.control ? estimate.to_control : estimate.after_switch;
}

double UnswitchedNs(const Estimate& estimate, const Cell& cell) {
  const double unseen = cell.part == WindowPart::kControl ? estimate.in_control : 0;
  return estimate.unswitched *
         (static_cast<double>(cell.unswitched_ps) / 1000 + unseen * static_cast<double>(cell.ns));
}

double CostNs(const Estimate& estimate, const Cell& cell) {
  const auto ns = static_cast<double>(cell.ns);
  if (cell.layers == kOursAlone) return ns;
  const bool in_step = cell.part == WindowPart::kSteps || cell.part == WindowPart::kControl ||
                       cell.part == WindowPart::kLeftOut;
  const double probes = cell.control ? 0 : static_cast<double>(cell.probe_ps) / 1000;
  return SwitchedShare(estimate, cell) * static_cast<double>(cell.switched_ns) +
         estimate.scale * probes + UnswitchedNs(estimate, cell) +
         (in_step ? estimate.floor * ns : 0);
}

Correction Correct(const std::vector<Cell>& cells, const Estimate& estimate) {
  std::vector<double> exact;
  double sum = 0;
  for (const Cell& cell : cells) sum += exact.emplace_back(CostNs(estimate, cell));
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

std::vector<bool> SettlingControlSteps(const trace::Process& process) {
  constexpr size_t kSettling = 6;  // docs/accounting.md 5
  const std::vector<trace::Step>& steps = process.steps;
  std::vector<bool> settling(steps.size());
  std::unordered_map<uint32_t, int64_t> settled;  // by kind: how many more are behind those
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    while (end < steps.size() && steps[end].level == steps[begin].level) ++end;
    if (!steps[begin].control() || end - begin < 2 * kSettling) continue;
    for (size_t i = begin; i < end; ++i) {
      settling[i] = i < begin + kSettling;
      settled[steps[i].kind.value] += settling[i] ? -1 : 1;
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (settling[i] && settled[steps[i].kind.value] < 0) settling[i] = false;
  }
  return settling;
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
  const std::vector<bool> settling = SettlingControlSteps(process);
  std::vector<StepSample> out;
  auto pause = events.pauses.begin();
  for (size_t i = 0; i < samples.size(); ++i) {
    const trace::Step& step = process.steps[i];
    StepSample& s = samples[i];
    s.kind = step.kind.value;
    s.level = step.level;
    while (pause != events.pauses.end() && pause->end_ns <= step.begin_ns) ++pause;
    const bool paused = pause != events.pauses.end() && pause->begin_ns < step.end_ns;
    const bool whole = !paused && !step.open && s.ns > 0;
    s.switched = whole && step.after_switch;
    s.settles = whole && !step.after_switch && settling[i];
    s.counts = whole && !s.switched && !s.settles;
    out.push_back(s);
  }
  return out;
}

}  // namespace crosscut::analyze
