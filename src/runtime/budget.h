// Keeps what the recording costs within a share of the program's own time, by recording fewer
// steps.
//
// The step plan says which level each step would have. Steps come in runs of kRunSteps, and a run
// is kept with a chance that follows from what the levels cost here: the steps of a run that is not
// kept are control steps. A hash of (seed, run) is compared with that chance, so of processes that
// count their steps alike one with less room keeps a part of the runs that the others keep.
//
// Costs. Where two neighbouring stretches of steps differ in level, the difference of their means
// is a sample of what the upper level costs more than the lower; the first step after a change,
// less the mean of those behind it, is one of what a change costs. The mean of the samples and what
// the words that the steps wrote would cost (kNsPerWord, as uncertain as it is large) are averaged
// with the inverse squares of their errors as weights: where steps differ much in length, dozens of
// samples say less than the words.
//
// For the one thread that makes the steps. No allocation, no lock.
#pragma once

#include <cstdint>

#include "src/format/step_shares.h"

namespace crosscut::record {

class StepBudget {
 public:
  static constexpr uint64_t kRunSteps = 24;
  // The first steps, which have the plan's levels: too little is known of costs.
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

  // The level for `step`, which follows the last that ended, where the plan says `planned`.
  format::StepLevel LevelFor(uint64_t step, format::StepLevel planned);

  // What the recording has cost so far, as a share of the program's own time.
  double Held() const;
  // The chance with which a run of steps is kept now.
  double kept() const { return kept_; }

 private:
  static constexpr int kLevels = format::kStepLevels;
  static constexpr double kNsPerWord = 60;
  static constexpr double kNsPerSwitch = 20'000;
  static constexpr int kEdgeSteps = 6;  // that are compared, at most, on each side of a change
  static constexpr double kLeastKept = 0.005;

  // Samples of one cost, in ticks; each counts ever less when others come.
  struct Samples {
    double count = 0, mean = 0, variance = 0;
    void Add(double value);
    // Their mean, averaged with a guess of `guess` +- `error`; never below 0.
    double With(double guess, double error) const;
  };
  // Steps of one level on one side of a change.
  struct Side {
    format::StepLevel level = format::kLevelControl;
    int count = 0;
    double ticks = 0;
    double Mean() const { return ticks / count; }
  };

  double CostOf(int level) const;
  double CostOfSwitch() const;
  double Spent() const;
  void BeginStretch(const Step& step, double length);
  void Compare();
  void ChooseKept();

  uint64_t seed_ = 0;
  double share_ = 0;
  double ns_per_tick_ = 1;
  double kept_ = 1;
  bool keep_ = true;  // the run that is under way
  format::StepLevel planned_before_ = format::kLevelEverything;

  Samples above_[kLevels];  // what a step of the level costs
  Samples switch_;
  double words_[kLevels] = {}, steps_[kLevels] = {};
  double switches_ = 0, ticks_ = 0, all_steps_ = 0;
  double usual_ = 0;  // length of a step
  // Of the plan, lately.
  double planned_[kLevels] = {}, planned_switches_ = 0;

  Side before_, now_;
  bool compared_ = true;  // these two
  double first_ = 0;      // the first step of this stretch
  double newest_[kEdgeSteps] = {};
  uint64_t stretch_ = 0;  // steps of it behind the first
};

}  // namespace crosscut::record
