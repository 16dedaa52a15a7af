// Keeps what the recording costs within a share of the program's own time, by recording fewer
// steps.
//
// The step plan says which level each step would have. Steps come in runs of kRunSteps, and a run
// is kept with a chance that follows from what the levels cost here. The steps of a run that is not
// kept are left out: they have the level marks, but for the plan's control steps, which stay what
// they are unless the switches to them take half of what there is. A hash of (seed, run) is
// compared with that chance, so of processes that count their steps alike one with less room keeps
// a part of the runs that the others keep.
//
// Costs. Where two neighbouring stretches of steps differ in level, the difference of their means
// is a sample of what the upper level costs more than the lower. Near a change the program has not
// found its pace yet, above all at the level control, which then looks dearer than it is: where
// both stretches are long enough the steps far from the change are compared ("settled"), and those
// near it only until there are enough of the others. What the steps near a change take longer is
// what the change costs. The mean of the samples and what the words that the steps wrote would cost
// (kNsPerWord) are averaged with the inverse squares of their errors as weights: where steps differ
// much in length, dozens of samples say less than the words. These are as uncertain as they are
// large, and say nothing of calls that are too short to be recorded.
//
// Short blocks have no settled steps. Where it is open whether the plan fits, a few runs behind the
// first steps are measured: marks and the plan's main level take turns. What marks cost themselves
// is known from the plan's control steps beside them. They are never left out, whatever they cost.
//
// For the one thread that makes the steps. No allocation, no lock.
#pragma once

#include <cstdint>

#include "src/format/step_shares.h"

namespace crosscut::record {

class StepBudget {
 public:
  static constexpr uint64_t kRunSteps = 24;
  // So many have ended before one is left out, in a session that begins late, too: until then too
  // little is known of costs.
  static constexpr uint64_t kFreeSteps = 96;

  // A new session. `share` of the program's time, like 0.02; 0 or less: no limit. `ns_per_tick`: of
  // the clock that the lengths of steps are told in.
  void Set(uint64_t seed, double share, double ns_per_tick);
  bool limits() const { return share_ > 0; }

  // A step that has ended.
  struct Step {
    format::StepLevel level;
    bool after_switch;  // the level changed at its begin
    double ticks;       // its length
    double words;       // that its thread wrote in it
  };
  void Ended(const Step& step);

  // The level for `step`, which is recorded and follows the last that ended, where the plan says
  // `planned`.
  format::StepLevel LevelFor(uint64_t step, format::StepLevel planned);

  // What the recording has cost so far, as a share of the program's own time.
  double Held() const;
  // The chance with which a run of steps is kept now.
  double kept() const { return kept_; }

 private:
  // Levels are numbered here by how much they record.
  static constexpr int kLevels = 5, kMarks = 1;
  static constexpr double kNsPerWord = 60;
  static constexpr double kNsPerSwitch = 20'000;
  static constexpr int kNearSteps = 6;       // near a change that are compared, at most
  static constexpr int kSettlingSteps = 11;  // behind the first of a stretch
  static constexpr int kSettledSteps = 12;   // that are compared, at most
  static constexpr double kLeastKept = 0.005;

  // Samples of one cost, in ticks; each counts ever less when others come.
  struct Samples {
    double count = 0, mean = 0, variance = 0;
    void Add(double value);
    double Error2() const;  // of their mean, squared
    // Their mean, averaged with a guess of `guess` +- `error`; never below 0.
    double With(double guess, double error) const;
  };
  struct Mean {
    int count = 0;
    double sum = 0;
    void Add(double value) { ++count, sum += value; }
    double of() const { return sum / count; }
  };
  // Steps of one level, in a row. `near` and `settled` are of the side that is compared.
  struct Stretch {
    int level = 0;
    uint64_t steps = 0;    // behind the first
    double beginning = 0;  // ticks of the first, and of those that settle
    Mean near, settled;
    double newest[kSettledSteps] = {};
  };

  double Guess(int level) const;
  double Unseen() const;
  double CostOf(int level) const;
  double CostOfSwitch() const;
  double Spent() const;
  void BeginStretch(const Step& step, double length);
  void Compare();
  double CostOfRun(bool in_doubt) const;
  double CostOfControl() const;
  int Planned() const;
  bool Open() const;
  void ChooseRun(uint64_t run);

  uint64_t seed_ = 0;
  double share_ = 0;
  double ns_per_tick_ = 1;
  double kept_ = 1;
  // The run that is under way.
  enum class Run { kKept, kLeftOut, kMeasured, kMeasuredLeftOut } run_ = Run::kKept;
  bool shows_control_ = true;  // where it is left out
  uint64_t chosen_ = 0;        // runs so far
  int planned_before_ = kLevels - 1;

  // What a step of the upper level costs more than one of the lower.
  Samples settled_[kLevels][kLevels], near_[kLevels][kLevels];
  Samples switch_;
  double words_[kLevels] = {}, steps_[kLevels] = {};
  double switches_ = 0, ticks_ = 0, all_steps_ = 0;
  double usual_ = 0;  // length of a step
  // Of the plan, lately.
  double planned_[kLevels] = {}, planned_switches_ = 0;
  double planned_hidden_ = 0;  // of the switches: to control steps or from them

  Stretch before_, now_;
  bool compared_ = true;  // these two
};

}  // namespace crosscut::record
