#include "src/runtime/budget.h"

#include <algorithm>
#include <cmath>

namespace crosscut::record {
namespace {

constexpr double kMostSamples = 400;  // how many count: older ones fade
constexpr double kFewSamples = 4;     // say nothing of their spread
constexpr double kLongStep = 4;       // times the usual one: a hiccup, which counts as so long
constexpr double kUsualSteps = 64;    // over which what is usual fades
constexpr double kPlanFades = 0.95;   // per run

// As in plan.cc; another constant, so that a run's fate says nothing of its levels.
double Chance(uint64_t seed, uint64_t run) {
  uint64_t z = (seed ^ 0xd1b54a32d192ed03) + run * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

}  // namespace

void StepBudget::Samples::Add(double value) {
  count = std::min(count + 1, kMostSamples);
  const double share = 1 / count;
  const double off = value - mean;
  mean += off * share;
  variance = (1 - share) * (variance + share * off * off);
}

// A stretch between two changes takes part in two samples, which doubles the square of the error.
double StepBudget::Samples::With(double guess, double error) const {
  if (count < kFewSamples) return guess;
  const double error2 = std::max(2 * variance / (count - 1), 1e-9);
  const double weight = 1 / error2, other = 1 / (error * error);
  return std::max(0.0, (mean * weight + guess * other) / (weight + other));
}

void StepBudget::Set(uint64_t seed, double share, double ns_per_tick) {
  *this = StepBudget();
  seed_ = seed;
  share_ = share;
  ns_per_tick_ = ns_per_tick;
}

double StepBudget::CostOf(int level) const {
  if (level == format::kLevelControl || steps_[level] == 0) return 0;
  const double guess = words_[level] / steps_[level] * kNsPerWord / ns_per_tick_;
  return above_[level].With(guess, std::max(guess, 0.001 * usual_));
}

double StepBudget::CostOfSwitch() const {
  const double guess = kNsPerSwitch / ns_per_tick_;
  return switch_.With(guess, guess);
}

double StepBudget::Spent() const {
  double spent = switches_ * CostOfSwitch();
  for (int level = 0; level < kLevels; ++level) spent += steps_[level] * CostOf(level);
  return std::min(spent, ticks_ / 2);
}

double StepBudget::Held() const {
  const double spent = Spent();
  return ticks_ > 0 ? spent / (ticks_ - spent) : 0;
}

void StepBudget::Ended(const Step& step) {
  ticks_ += step.ticks;
  all_steps_ += 1;
  steps_[step.level] += 1;
  words_[step.level] += step.words;
  switches_ += step.after_switch;
  double length = step.ticks;
  if (usual_ > 0) {
    length = std::min(
        length, kLongStep * usual_ + (step.after_switch ? 10 * kNsPerSwitch / ns_per_tick_ : 0));
  }
  if (!step.after_switch) {
    usual_ += (length - usual_) / std::min(all_steps_, kUsualSteps);
  }
  if (step.after_switch || step.level != now_.level) return BeginStretch(step, length);
  newest_[stretch_++ % kEdgeSteps] = length;
  if (now_.count < kEdgeSteps) {
    now_.ticks += length;
    if (++now_.count == kEdgeSteps) Compare();
  }
}

void StepBudget::BeginStretch(const Step& step, double length) {
  Compare();
  before_ = {now_.level, static_cast<int>(std::min<uint64_t>(stretch_, kEdgeSteps)), 0};
  for (int i = 0; i < before_.count; ++i) before_.ticks += newest_[i];
  now_ = {step.level, 0, 0};
  first_ = length;
  stretch_ = 0;
  compared_ = false;
}

void StepBudget::Compare() {
  if (compared_ || now_.count < 2) return;
  compared_ = true;
  switch_.Add(first_ - now_.Mean());
  if (before_.count < 2 || before_.level == now_.level) return;
  const bool up = now_.level > before_.level;
  const Side& upper = up ? now_ : before_;
  const Side& lower = up ? before_ : now_;
  above_[upper.level].Add(upper.Mean() - lower.Mean() + CostOf(lower.level));
}

// So many runs that the mean over all steps meets the share: what was spent too much is to come in
// again within as many steps as there were.
void StepBudget::ChooseKept() {
  double steps = 0, run = 0;
  for (int level = 0; level < kLevels; ++level) {
    steps += planned_[level];
    run += planned_[level] * CostOf(level);
  }
  if (steps == 0) return;
  const double runs = all_steps_ / kRunSteps;
  run = (run + planned_switches_ * CostOfSwitch()) * kRunSteps / steps;
  run += 2 * (1 - kept_) * CostOfSwitch();  // at its edges, where its neighbours are not kept
  const double spent = Spent();
  const double room = share_ * (ticks_ - spent);
  const double income = room / runs + (room - spent) / std::max(runs, 8.0);
  kept_ = run <= income ? 1 : std::max(income / run, kLeastKept);
}

format::StepLevel StepBudget::LevelFor(uint64_t step, format::StepLevel planned) {
  if (!limits()) return planned;
  planned_[planned] += 1;
  planned_switches_ += planned != planned_before_;
  planned_before_ = planned;
  if (step < kFreeSteps) return planned;
  if (step % kRunSteps == 0) {
    ChooseKept();
    keep_ = Chance(seed_, step / kRunSteps) < kept_;
    for (double& count : planned_) count *= kPlanFades;
    planned_switches_ *= kPlanFades;
  }
  return keep_ ? planned : format::kLevelControl;
}

}  // namespace crosscut::record
