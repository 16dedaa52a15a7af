#include "src/runtime/budget.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace crosscut::record {
namespace {

constexpr double kMostSamples = 400;    // how many count: older ones fade
constexpr double kFewSamples = 4;       // say nothing of their spread
constexpr double kDoubt = 3;            // a word may cost so many times the guess
constexpr double kUnseenShare = 0.05;   // of a step, for calls that write no words
constexpr double kNsUnseen = 150'000;   // but no more than this
constexpr double kMeasured = 5;         // settled samples that may end the measuring
constexpr uint64_t kMostMeasured = 12;  // runs, however little they tell
constexpr double kLongStep = 4;         // times the usual one: a hiccup, which counts as so long
constexpr double kUsualSteps = 64;      // over which what is usual fades
constexpr double kPlanFades = 0.95;     // per run

// By how much they record.
constexpr format::StepLevel kByDetail[] = {format::kLevelControl, format::kLevelMarks,
                                           format::kLevelBoundary, format::kLevelOperators,
                                           format::kLevelEverything};
int DetailOf(format::StepLevel level) {
  return static_cast<int>(std::find(kByDetail, std::end(kByDetail) - 1, level) - kByDetail);
}

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

// A stretch between two changes takes part in two samples, which doubles the square of the error;
// few samples may agree by chance, as with Student's t.
double StepBudget::Samples::Error2() const {
  if (count < 2) return 1e30;
  return std::max(2 * variance / (count - 1) * (1 + 4 / (count - 1)), 1e-9);
}

double StepBudget::Samples::With(double guess, double error) const {
  if (count < kFewSamples) return guess;
  const double weight = 1 / Error2(), other = 1 / (error * error);
  return std::max(0.0, (mean * weight + guess * other) / (weight + other));
}

void StepBudget::Set(uint64_t seed, double share, double ns_per_tick) {
  *this = StepBudget();
  seed_ = seed;
  share_ = share;
  ns_per_tick_ = ns_per_tick;
}

double StepBudget::Guess(int level) const {
  if (level == 0 || steps_[level] == 0) return 0;
  return words_[level] / steps_[level] * kNsPerWord / ns_per_tick_;
}

// What a step may cost beside its words.
double StepBudget::Unseen() const {
  return std::min(kUnseenShare * usual_, kNsUnseen / ns_per_tick_);
}

double StepBudget::CostOf(int level) const {
  const double guess = Guess(level);
  if (guess == 0) return 0;
  const auto known = [&](const Samples& samples, int lower) {
    const double more = std::max(guess - Guess(lower), 0.0);
    return CostOf(lower) + samples.With(more, level == kMarks ? more : more + Unseen());
  };
  // A few hiccups make the settled steps' too low; those near a change can hardly be too high.
  double most = 0;
  bool any = false;
  for (const auto& samples : {settled_[level], near_[level]}) {
    for (int lower = 0; lower < level; ++lower) {
      if (samples[lower].count < kFewSamples) continue;
      most = std::max(most, known(samples[lower], lower));
      any = true;
    }
  }
  return any ? most : guess;
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
  const int level = DetailOf(step.level);
  steps_[level] += 1;
  words_[level] += step.words;
  switches_ += step.after_switch;
  double length = step.ticks;
  if (usual_ > 0) {
    length = std::min(
        length, kLongStep * usual_ + (step.after_switch ? 10 * kNsPerSwitch / ns_per_tick_ : 0));
  }
  if (!step.after_switch) {
    usual_ += (length - usual_) / std::min(all_steps_, kUsualSteps);
  }
  if (step.after_switch || level != now_.level) return BeginStretch(step, length);
  Stretch& now = now_;
  now.newest[now.steps++ % kSettledSteps] = length;
  if (now.near.count < kNearSteps) now.near.Add(length);
  if (now.steps <= kSettlingSteps) {
    now.beginning += length;
  } else if (now.settled.count < kSettledSteps) {
    now.settled.Add(length);
    if (now.settled.count == kSettledSteps) Compare();
  }
}

void StepBudget::BeginStretch(const Step& step, double length) {
  Compare();
  before_ = now_;
  before_.near = before_.settled = {};
  const auto steps =
      static_cast<int>(std::min<uint64_t>(now_.steps, kSettlingSteps + kSettledSteps));
  const int newest = std::min(steps, kSettledSteps), settled = steps - kSettlingSteps;
  for (int back = 1; back <= newest; ++back) {
    const double ticks = now_.newest[(now_.steps - static_cast<uint64_t>(back)) % kSettledSteps];
    if (back <= kNearSteps) before_.near.Add(ticks);
    if (back <= settled) before_.settled.Add(ticks);
  }
  now_ = Stretch();
  now_.level = DetailOf(step.level);
  now_.beginning = length;
  compared_ = false;
}

void StepBudget::Compare() {
  if (compared_ || now_.near.count < 2) return;
  compared_ = true;
  constexpr int kEnough = kSettledSteps / 2;
  const bool settled = now_.settled.count >= kEnough;
  const auto begun = static_cast<double>(std::min<uint64_t>(now_.steps, kSettlingSteps) + 1);
  switch_.Add(now_.beginning - begun * (settled ? now_.settled : now_.near).of());
  if (before_.near.count < 2 || before_.level == now_.level) return;
  const bool up = now_.level > before_.level;
  const Stretch& upper = up ? now_ : before_;
  const Stretch& lower = up ? before_ : now_;
  // What marks cost is little, and known: steps with them stand for control steps, too.
  const bool marks = lower.level == kMarks;
  const int than = marks ? 0 : lower.level;
  const double least = marks ? CostOf(kMarks) : 0;
  if (settled && before_.settled.count >= kEnough) {
    settled_[upper.level][than].Add(least + upper.settled.of() - lower.settled.of());
  } else {
    near_[upper.level][than].Add(least + upper.near.of() - lower.near.of());
  }
}

// What a run of the plan costs, in ticks; in doubt, what it may cost.
double StepBudget::CostOfRun(bool in_doubt) const {
  double steps = 0, run = 0;
  for (int level = 0; level < kLevels; ++level) {
    double cost = CostOf(level);
    if (in_doubt && cost > 0) cost = std::max(cost, kDoubt * Guess(level) + Unseen());
    steps += planned_[level];
    run += planned_[level] * cost;
  }
  return (run + planned_switches_ * CostOfSwitch()) * kRunSteps / std::max(steps, 1.0);
}

// What the plan's control steps cost a step of a run that is left out, by the switches to them and
// back.
double StepBudget::CostOfControl() const {
  double steps = 0;
  for (const double planned : planned_) steps += planned;
  return planned_hidden_ * CostOfSwitch() / std::max(steps, 1.0);
}

// The plan's main level, lately.
int StepBudget::Planned() const {
  int most = kLevels - 1;
  for (int level = kLevels - 1; level >= 0; --level) {
    if (planned_[level] > planned_[most]) most = level;
  }
  return most;
}

// Whether it is unknown that the plan fits.
bool StepBudget::Open() const {
  const int level = Planned();
  const double room = share_ * usual_ * kRunSteps;
  const Samples& settled = settled_[level][0];
  if (settled.count < kMeasured) return CostOfRun(true) > room;
  const double cost = CostOfRun(false);
  return cost < room && cost + 2 * std::sqrt(settled.Error2()) * kRunSteps > room;
}

// Of the runs that the plan describes so many are kept that the mean over all steps meets the
// share: what was spent too much is to come in again within half as many steps as there were.
void StepBudget::ChooseRun(uint64_t run) {
  const uint64_t before = chosen_++;
  if (before < kMostMeasured && Open()) {
    run_ = before % 2 == 0 ? Run::kMeasuredLeftOut : Run::kMeasured;
    return;
  }
  // At its edges its neighbours are not kept.
  const double cost = CostOfRun(false) + 2 * (1 - kept_) * CostOfSwitch();
  const double control = CostOfControl();
  shows_control_ = control < share_ * usual_ / 2;
  const double left_out = (CostOf(kMarks) + (shows_control_ ? control : 0)) * kRunSteps;
  const double runs = all_steps_ / kRunSteps;
  const double spent = Spent();
  const double room = share_ * (ticks_ - spent);
  const double income = room / runs + (room - spent) / std::max(runs / 2, 8.0);
  const bool fits = cost <= std::max(income, left_out);
  kept_ = fits ? 1 : std::max((income - left_out) / (cost - left_out), kLeastKept);
  run_ = Chance(seed_, run) < kept_ ? Run::kKept : Run::kLeftOut;
}

format::StepLevel StepBudget::LevelFor(uint64_t step, format::StepLevel planned) {
  if (!limits()) return planned;
  const int level = DetailOf(planned);
  planned_[level] += 1;
  planned_switches_ += level != planned_before_;
  planned_hidden_ += (level == 0) != (planned_before_ == 0);
  planned_before_ = level;
  if (all_steps_ < kFreeSteps) return planned;
  if (step % kRunSteps == 0) {
    ChooseRun(step / kRunSteps);
    for (double& count : planned_) count *= kPlanFades;
    planned_switches_ *= kPlanFades;
    planned_hidden_ *= kPlanFades;
  }
  switch (run_) {
    case Run::kMeasured: return kByDetail[Planned()];
    case Run::kMeasuredLeftOut: return format::kLevelMarks;
    case Run::kLeftOut: return level == 0 && shows_control_ ? planned : format::kLevelMarks;
    case Run::kKept: break;
  }
  return planned;
}

}  // namespace crosscut::record
