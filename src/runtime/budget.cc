#include "src/runtime/budget.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>

namespace crosscut::record {
namespace {

constexpr int kCut = 8;                 // one in so many of the samples, at either end
constexpr int kFewSamples = 4;          // say nothing of their spread
constexpr double kUnsure = 0.5;         // of a cost's error are added: it is likely no more
constexpr double kDoubt = 3;            // a word may cost so many times the guess
constexpr double kDoubtOfMarks = 2;     // its error, as a multiple of the guess
constexpr double kUnseenShare = 0.05;   // of a step, for calls that write no words
constexpr double kNsUnseen = 150'000;   // but no more than this
constexpr int kMeasured = 5;            // settled samples that may end the measuring
constexpr uint64_t kMostMeasured = 12;  // runs, however little they tell
constexpr double kBusy = 4;             // times the share of time without a processor
constexpr double kMostWords = 4;        // times a step's words, which tell a sample's weight
constexpr double kPlanFades = 0.95;     // per run

// By how much they record.
constexpr format::StepLevel kByDetail[] = {format::kLevelControl, format::kLevelMarks,
                                           format::kLevelBoundary, format::kLevelOperators,
                                           format::kLevelEverything};
int DetailOf(format::StepLevel level) {
  return static_cast<int>(std::find(kByDetail, std::end(kByDetail) - 1, level) - kByDetail);
}

// Steps of the golden ratio from a place that the seed tells: any few runs in a row are spread
// evenly, whatever period the program has, so that the share that is kept is no matter of luck.
double Chance(uint64_t seed, uint64_t run) {
  uint64_t z = seed ^ 0xd1b54a32d192ed03;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  z = (z ^ z >> 31) + run * 0x9e3779b97f4a7c15;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace

void StepBudget::Samples::Add(double value) {
  const auto added = static_cast<float>(value);
  if (count_ == kMost) {
    float* gone = std::lower_bound(by_size_, by_size_ + count_, by_age_[oldest_]);
    std::copy(gone + 1, by_size_ + count_, gone);
    --count_;
  }
  by_age_[oldest_] = added;
  oldest_ = (oldest_ + 1) % kMost;
  float* place = std::upper_bound(by_size_, by_size_ + count_, added);
  std::copy_backward(place, by_size_ + count_, by_size_ + count_ + 1);
  *place = added;
  ++count_;
  Measure();
}

// The mean without the largest and the smallest, and its error: the variance of what is left where
// those count as the last that stay (winsorized). A stretch between two changes takes part in two
// samples, which doubles the square of the error; few samples may agree by chance, as with
// Student's t.
void StepBudget::Samples::Measure() {
  const int cut = count_ / kCut, stay = count_ - 2 * cut;
  double sum = 0, squares = 0;
  for (int i = cut; i < cut + stay; ++i) sum += double{by_size_[i]};
  middle_ = sum / stay;
  for (int i = 0; i < count_; ++i) {
    const double off = double{by_size_[std::clamp(i, cut, cut + stay - 1)]} - middle_;
    squares += off * off;
  }
  const double freedom = std::max(stay - 1, 1);
  error2_ =
      count_ < 2
          ? 1e30
          : std::max(2 * squares / count_ / freedom * (1 + 4 / freedom) * count_ / stay, 1e-9);
}

// From how far apart those around it lie.
double StepBudget::Samples::low_error2() const {
  const double around = double{by_size_[3 * count_ / 8]} - double{by_size_[count_ / 8]};
  return std::max(3 * around * around / count_, 1e-9);
}

void StepBudget::Set(uint64_t seed, double share, double ns_per_tick) {
  new (this) StepBudget();  // no copy of what is large
  seed_ = seed;
  share_ = share;
  ns_per_tick_ = ns_per_tick;
}

// Where nobody counted the words, a cost beside them stands for all of it.
double StepBudget::Guess(int level) const {
  if (level == 0 || steps_[level] == 0) return 0;
  if (counted_[level] == 0) return level == kMarks ? 0 : Unseen();
  return WordsOf(level) * kNsPerWord / ns_per_tick_;
}

// What a step may cost beside its words.
double StepBudget::Unseen() const {
  const double cpu = cpu_ticks_ / std::max(all_steps_, 1.0);
  return std::min(kUnseenShare * cpu, kNsUnseen / ns_per_tick_);
}

// What the program took itself, on a machine that it has for itself.
double StepBudget::Own() const {
  const double busy = std::min(1.0, kBusy * waited_ / std::max(ticks_ + waited_, 1.0));
  if (busy == 0 || shortest_.count() < kFewSamples) return ticks_;
  return ticks_ - busy * std::max(0.0, cpu_ticks_ - all_steps_ * shortest_.middle());
}

StepBudget::Weighted StepBudget::Compared(const Samples* samples, int level) const {
  Weighted cost;
  for (int lower = 0; lower < level; ++lower) {
    if (samples[lower].count() < kFewSamples) continue;
    cost.Add(CostOf(lower) + samples[lower].middle(), samples[lower].error2());
  }
  return cost;
}

// Near a change the cost can look too low, but hardly too high: where it does, the others are few.
double StepBudget::CostOf(int level) const {
  const double guess = Guess(level);
  if (guess == 0) return 0;
  Weighted cost = Compared(settled_[level], level);
  const Weighted near = Compared(near_[level], level);
  if (near.weights > 0 && (cost.weights == 0 || near.mean() > cost.mean())) cost.Add(near);
  // Marks are few, and what surrounds them is the same however few.
  const double words = level == kMarks ? kDoubtOfMarks * guess : guess;
  const double unseen = level == kMarks ? 0 : Unseen();
  cost.Add(guess, words * words + unseen * unseen);
  return std::max(0.0, cost.mean() + kUnsure / std::sqrt(cost.weights));
}

double StepBudget::CostOfSwitch(int upper) const {
  return ColdAfterSwitch() + switching_[upper].middle();
}

double StepBudget::ColdAfterSwitch() const {
  const double guess = kNsPerSwitch / ns_per_tick_;
  if (first_.count() < kFewSamples) return guess;
  Weighted cost;
  cost.Add(guess, guess * guess);
  cost.Add(first_.low() - second_.low(), first_.low_error2() + second_.low_error2());
  // Nothing where it may be by chance, and all of it only where that is out of the question.
  const double settling = std::max(settling_.middle(), 1e-9);
  const double sure = 1 - 4 * settling_.error2() / (settling * settling);
  return std::max(0.0, cost.mean()) + settling * std::max(0.0, sure);
}

double StepBudget::Spent() const {
  double spent = switches_ * ColdAfterSwitch() + switched_ticks_;
  for (int level = 0; level < kLevels; ++level) spent += steps_[level] * CostOf(level);
  return std::min(spent, Own() / 2);
}

double StepBudget::Held() const {
  const double spent = Spent();
  return spent > 0 ? spent / (Own() - spent) : 0;
}

void StepBudget::Waited(double ticks) {
  waited_ += ticks;
  ticks_ = std::max(cpu_ticks_, ticks_ - ticks);
}

StepBudget::Each StepBudget::Group::Shortest(int of) const {
  Each sorted[kSettled];
  std::copy(each, each + of, sorted);
  const int few = std::max(of / 4, 1);
  std::partial_sort(sorted, sorted + few, sorted + of,
                    [](const Each& a, const Each& b) { return a.ticks < b.ticks; });
  Each mean;
  for (int i = 0; i < few; ++i) {
    mean.ticks += sorted[i].ticks / few;
    mean.words += sorted[i].words / few;
  }
  return mean;
}

void StepBudget::CountSwitch(Piece* piece) {
  piece->cpu_ticks = std::max(0.0, piece->cpu_ticks - piece->switch_ticks);
  if (switches_++ == 0) {
    piece->ticks = std::max(piece->cpu_ticks, piece->ticks - piece->switch_ticks);
    return;
  }
  switching_[std::max(DetailOf(piece->level), now_.level)].Add(piece->switch_ticks);
  switched_ticks_ += piece->switch_ticks;
}

void StepBudget::Ended(Piece piece) {
  const int level = DetailOf(piece.level);
  const auto steps = static_cast<double>(piece.steps);
  if (piece.after_switch) CountSwitch(&piece);
  if (piece.words >= 0) {
    counted_[level] += steps;
    words_[level] += piece.words;
  } else {
    piece.words = WordsOf(level) * steps;
  }
  ticks_ += piece.ticks;
  cpu_ticks_ += piece.cpu_ticks;
  all_steps_ += steps;
  steps_[level] += steps;
  if (piece.after_switch || level != now_.level) return BeginStretch(piece);
  Stretch& now = now_;
  const Each each = {piece.cpu_ticks / steps, piece.words / steps, piece.steps};
  now.newest[now.pieces++ % kSettled] = each;
  now.near.Add(each, kNear);
  if (now.steps >= kSettlingSteps) now.settled.Add(each, kSettled);
  now.steps += piece.steps;
  if (now.settled.count == kSettled) Compare();
}

void StepBudget::BeginStretch(const Piece& piece) {
  Compare();
  before_ = now_;
  before_.near.count = before_.settled.count = 0;
  uint64_t first = now_.steps;  // of the piece, behind the stretch's first
  for (uint64_t back = 1; back <= std::min<uint64_t>(now_.pieces, kSettled); ++back) {
    const Each& each = now_.newest[(now_.pieces - back) % kSettled];
    first -= each.steps;
    before_.near.Add(each, kNear);
    if (first >= kSettlingSteps) before_.settled.Add(each, kSettled);
  }
  now_ = Stretch();
  now_.level = DetailOf(piece.level);
  now_.switched = piece.after_switch;
  now_.first = piece.cpu_ticks;
  compared_ = false;
}

// The first step is held against the second, as others on the machine make both longer at times.
void StepBudget::LookAtSwitch() {
  Group others = now_.near;
  const double second = others.each[0].ticks;
  others.each[0] = others.each[--others.count];
  const double level = others.Shortest(others.count).ticks;
  first_.Add(now_.first - level);
  second_.Add(second - level);
  const int of = std::min(now_.near.count, now_.settled.count);
  if (of < kSettled / 2) return;
  uint64_t steps = 0;
  for (int i = 0; i < now_.near.count; ++i) steps += now_.near.each[i].steps;
  const double settling = now_.near.Shortest(of).ticks - now_.settled.Shortest(of).ticks;
  settling_.Add(settling * static_cast<double>(steps));
}

// What a step of the upper level costs more, as far as these tell.
double StepBudget::More(const Group& upper, const Group& lower, int level) {
  const int of = std::min(upper.count, lower.count);
  const Each dear = upper.Shortest(of), cheap = lower.Shortest(of);
  const double words = WordsOf(level);
  const double least = words / kMostWords, most = std::max(words * kMostWords, 1.0);
  const double as_usual = (words + 1) / (std::clamp(dear.words, least, most) + 1);
  shortest_.Add(cheap.ticks * as_usual);
  return (dear.ticks - cheap.ticks) * as_usual;
}

void StepBudget::Compare() {
  if (compared_ || now_.near.count < 2) return;
  compared_ = true;
  if (now_.switched) LookAtSwitch();
  if (before_.near.count < 2 || before_.level == now_.level) return;
  const bool up = now_.level > before_.level;
  const Stretch& upper = up ? now_ : before_;
  const Stretch& lower = up ? before_ : now_;
  // What marks cost is little, and known: steps with them stand for control steps, too.
  const bool marks = lower.level == kMarks;
  const int than = marks ? 0 : lower.level;
  const double least = marks ? CostOf(kMarks) : 0;
  if (std::min(upper.settled.count, lower.settled.count) >= kSettled / 2) {
    settled_[upper.level][than].Add(least + More(upper.settled, lower.settled, upper.level));
  } else {
    near_[upper.level][than].Add(least + More(upper.near, lower.near, upper.level));
  }
}

// What a step of the plan costs, in ticks; in doubt, what it may cost.
double StepBudget::CostOfPlan(bool in_doubt) const {
  double steps = 0, sum = 0;
  for (int level = 0; level < kLevels; ++level) {
    double cost = CostOf(level);
    if (in_doubt && cost > 0) cost = std::max(cost, kDoubt * Guess(level) + Unseen());
    steps += planned_[level];
    sum += planned_[level] * cost + planned_switches_[level] * CostOfSwitch(level);
  }
  return sum / std::max(steps, 1.0);
}

// What the plan's control steps cost a step of a run that is left out, by the switches to them and
// back.
double StepBudget::CostOfControl() const {
  double steps = 0;
  for (const double planned : planned_) steps += planned;
  return planned_hidden_ * CostOfSwitch(kMarks) / std::max(steps, 1.0);
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
  const double room = share_ * OwnOfStep();
  const Samples& settled = settled_[level][0];
  if (settled.count() < kMeasured) return CostOfPlan(true) > room;
  const double cost = CostOfPlan(false);
  return cost < room && cost + 2 * std::sqrt(settled.error2()) > room;
}

// Of the runs that the plan describes so many are kept that the mean over all steps meets the
// share: what was spent too much is to come in again within half as many steps as there were.
void StepBudget::ChooseRun(const StepRun& run) {
  const uint64_t before = chosen_++;
  if (before < kMostMeasured && Open()) {
    run_ = before % 2 == 0 ? Run::kMeasuredLeftOut : Run::kMeasured;
    return;
  }
  // At its edges its neighbours are not kept.
  const double edges = 2 * (1 - kept_) * CostOfSwitch(Planned());
  const double cost = CostOfPlan(false) + edges / static_cast<double>(run.steps);
  const double control = CostOfControl();
  shows_control_ = control < share_ * OwnOfStep() / 2;
  const double left_out = CostOf(kMarks) + (shows_control_ ? control : 0);
  const double spent = Spent();
  const double room = share_ * (Own() - spent);
  const double steps = all_steps_, least = 8 * double{kLeastRunSteps};
  const double income = room / steps + (room - spent) / std::max(steps / 2, least);
  const bool fits = cost <= std::max(income, left_out);
  kept_ = fits ? 1 : std::max((income - left_out) / (cost - left_out), kLeastKept);
  run_ = Chance(seed_, run.number) < kept_ ? Run::kKept : Run::kLeftOut;
}

// A run begins and ends with a change of level, so runs are long where there are many steps.
StepBudget::StepRun StepBudget::RunOf(uint64_t step) {
  constexpr uint64_t kLongerFrom = 160, kTimes = 4;  // runs
  const uint64_t from = kLongerFrom * kLeastRunSteps, length = kTimes * kLeastRunSteps;
  if (step < from) return {step / kLeastRunSteps, kLeastRunSteps, step % kLeastRunSteps == 0};
  return {kLongerFrom + (step - from) / length, length, (step - from) % length == 0};
}

format::StepLevel StepBudget::LevelFor(uint64_t step, format::StepLevel planned) {
  if (!limits()) return planned;
  const int level = DetailOf(planned);
  planned_[level] += 1;
  planned_switches_[std::max(level, planned_before_)] += level != planned_before_;
  planned_hidden_ += (level == 0) != (planned_before_ == 0);
  planned_before_ = level;
  if (all_steps_ < kFreeSteps) return planned;
  if (const StepRun run = RunOf(step); run.begins) {
    ChooseRun(run);
    for (double& count : planned_) count *= kPlanFades;
    for (double& count : planned_switches_) count *= kPlanFades;
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
