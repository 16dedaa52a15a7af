#include "src/compare/undisturbed.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace crosscut::compare {
namespace {

constexpr size_t kStretches = 8;

// One operation's lengths in the steps in which it occurs, the shortest first.
struct Lengths {
  struct One {
    double ns;
    uint32_t step;
  };
  std::vector<One> sorted;

  // Those that count among the ones that `keep` keeps.
  template <class Keep>
  std::vector<One> Fastest(Keep keep) const {
    std::vector<One> kept;
    std::copy_if(sorted.begin(), sorted.end(), std::back_inserter(kept), keep);
    const auto n = static_cast<double>(kept.size());
    const auto to = std::max(kFewestFastest, static_cast<size_t>(std::ceil(kFastestTo * n)));
    const auto from = static_cast<size_t>(kFastestFrom * n);
    kept.resize(std::min(kept.size(), to));
    kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(std::min(from, kept.size())));
    return kept;
  }
};

double Mean(const std::vector<Lengths::One>& lengths) {
  double sum = 0;
  for (const Lengths::One& one : lengths) sum += one.ns;
  return lengths.empty() ? 0 : sum / static_cast<double>(lengths.size());
}

// Where steps are in the run, and what is left of it without one stretch.
class Stretches {
 public:
  explicit Stretches(size_t steps) : steps_(steps) {
    left_.fill(steps);
    for (uint32_t s = 0; s < steps; ++s) --left_[Of(s)];
  }
  size_t Of(uint32_t step) const { return step * kStretches / steps_; }

  // Per step of what is left.
  double Without(const Lengths& lengths, size_t stretch) const {
    const size_t left = left_[stretch];
    size_t occurs = 0;
    for (const Lengths::One& one : lengths.sorted) occurs += Of(one.step) != stretch;
    const auto fastest =
        lengths.Fastest([&](const Lengths::One& one) { return Of(one.step) != stretch; });
    return left == 0 ? 0 : Mean(fastest) * static_cast<double>(occurs) / static_cast<double>(left);
  }

 private:
  size_t steps_;
  std::array<size_t, kStretches> left_;  // steps, without each stretch
};

using Without = std::array<double, kStretches>;  // a figure without each stretch in turn

double JackknifeError(const Without& without) {
  double mean = 0, squares = 0;
  for (const double x : without) mean += x / kStretches;
  for (const double x : without) squares += (x - mean) * (x - mean);
  return std::sqrt(squares * (kStretches - 1) / kStretches);
}

Figure MakeFigure(double ns, const Without& without) {
  Figure out;
  out.ns = ns;
  out.error = JackknifeError(without);
  if (ns <= 0 || *std::min_element(without.begin(), without.end()) <= 0) return out;
  Without logs = without;
  double below = 0;  // of those that are lower than the whole run's: half of all squares by chance
  for (double& x : logs) {
    x = std::log(x);
    below += std::pow(std::min(x - std::log(ns), 0.0), 2);
  }
  out.log_error = JackknifeError(logs);
  out.log_error_above =
      std::min(out.log_error, std::sqrt(2 * below * (kStretches - 1) / kStretches));
  return out;
}

// The run's operations by number, and the operation of each key.
struct Operations {
  explicit Operations(const RunSteps& run) {
    std::map<std::string_view, uint32_t> numbers;
    for (const StepKey& key : run.keys) {
      const auto [at, fresh] = numbers.try_emplace(key.operation, names.size());
      if (fresh) names.push_back(key.operation);
      of_key.push_back(at->second);
    }
  }
  std::vector<std::string> names;
  std::vector<uint32_t> of_key;
};

std::vector<Lengths> LengthsOf(const RunSteps& run, const Operations& operations) {
  std::vector<Lengths> out(operations.names.size());
  for (const StepPart& part : run.parts) {
    auto& lengths = out[operations.of_key[part.key]].sorted;
    if (lengths.empty() || lengths.back().step != part.step) lengths.push_back({0, part.step});
    lengths.back().ns += part.corrected_ns;
  }
  for (Lengths& lengths : out) {
    std::stable_sort(lengths.sorted.begin(), lengths.sorted.end(),
                     [](const auto& x, const auto& y) { return x.ns < y.ns; });
  }
  return out;
}

}  // namespace

Undisturbed MeasureUndisturbed(const RunSteps& run) {
  Undisturbed out;
  out.by_key.resize(run.keys.size());
  if (run.steps.empty()) return out;
  const Operations operations(run);
  const std::vector<Lengths> all = LengthsOf(run, operations);
  const Stretches stretches(run.steps.size());
  Without step_without{};
  double step_ns = 0;
  std::vector<std::map<uint32_t, double>> weights(all.size());  // by step: how much it counts
  for (size_t o = 0; o < all.size(); ++o) {
    const auto fastest = all[o].Fastest([](const Lengths::One&) { return true; });
    const double share =
        static_cast<double>(all[o].sorted.size()) / static_cast<double>(run.steps.size());
    for (const Lengths::One& one : fastest) {
      weights[o][one.step] = share / static_cast<double>(fastest.size());
    }
    Without without{};
    for (size_t s = 0; s < kStretches; ++s) {
      without[s] = stretches.Without(all[o], s);
      step_without[s] += without[s];
    }
    out.operations[operations.names[o]] = MakeFigure(share * Mean(fastest), without);
    step_ns += share * Mean(fastest);
  }
  out.step = MakeFigure(step_ns, step_without);
  for (const StepPart& part : run.parts) {
    const auto& of_operation = weights[operations.of_key[part.key]];
    const auto at = of_operation.find(part.step);
    if (at == of_operation.end()) continue;
    const double ns = at->second * part.corrected_ns;
    out.by_key[part.key] += ns;
    const bool works = (run.keys[part.key].layers & analyze::kHostBits) != 0;
    if (!works) out.operations[run.keys[part.key].operation].waits_ns += ns;
  }
  return out;
}

}  // namespace crosscut::compare
