// Keeps what the recording costs within a share of the program's own time, by recording fewer
// steps.
//
// The step plan says which level each step would have. Steps come in runs, which grow with the
// steps that have been, as its blocks do; a run is kept with a chance that follows from what the
// levels cost here. The steps of a run that is not kept are left out: they have the level marks,
// but for the plan's control steps, which stay what they are unless the switches to them take half
// of what there is. A number that (seed, run) tells is compared with that chance, so of processes
// that count their steps alike one with less room keeps a part of the runs that the others keep.
//
// Costs are compared in the processor's time of the thread that makes the steps, and are held
// against its own time: without what it waited for a processor. So a program that sleeps has much
// room. Where it waits for a processor, others on the machine also make the processor's time
// longer, the program's and what recording costs; so what a step takes is then told by the shortest
// ones, as the cost is. What other threads record while this one waits for them is not seen.
//
// Where two neighbouring stretches of steps differ in level, the difference between the shortest
// quarters of their steps is a sample of what the upper level costs more than the lower: others on
// the machine make most steps longer, by more than that, but hardly the shortest. Near a change the
// program has not found its pace yet, above all at the level control, which then looks dearer than
// it is: where both stretches are long enough the steps far from the change are compared
// ("settled"), and those near it only until there are enough of the others. Where steps write
// different numbers of words, a sample counts as if the shortest had written as many as the mean.
// The mean of the samples and what the words of the steps would cost (kNsPerWord) are averaged with
// the inverse squares of their errors as weights: where steps differ much, dozens of samples say
// less than the words. These are as uncertain as they are large, and say nothing of calls that are
// too short to be recorded.
//
// What the sources do at a change is timed, and a change costs the more the more detailed the upper
// of its two levels is: a profiler that runs with operators hands over what it collected. Beside
// that, what the steps right behind a change take longer than those that follow is what it costs.
// The first change hands over what the program did before its first step, so it counts as none.
//
// Short blocks have no settled steps. Where it is open whether the plan fits, a few runs behind the
// first steps are measured: marks and the plan's main level take turns. What marks cost themselves
// is known from the plan's control steps beside them. They are never left out, whatever they cost.
//
// For the one thread that makes the steps. No allocation, no lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/format/step_shares.h"

namespace crosscut::record {

class StepBudget {
 public:
  static constexpr uint64_t kLeastRunSteps = 24;
  // So many have ended before one is left out, in a session that begins late, too: until then too
  // little is known of costs.
  static constexpr uint64_t kFreeSteps = 96;

  // The run in which a step is. Those of one length begin at multiples of it.
  struct StepRun {
    uint64_t number, steps;
    bool begins;  // with this step
  };
  static StepRun RunOf(uint64_t step);

  // A new session. `share` of the program's time, like 0.02; 0 or less: no limit. `ns_per_tick`: of
  // the clock that the lengths of steps are told in.
  void Set(uint64_t seed, double share, double ns_per_tick);
  bool limits() const { return share_ > 0; }

  // Steps of one level that have ended, one after the other.
  struct Piece {
    format::StepLevel level;
    bool after_switch;  // the level changed at the begin of the only one
    uint32_t steps;
    double ticks, cpu_ticks;  // their length, and the processor's time of their thread
    double words;             // that their thread wrote in them; < 0: not known
    double switch_ticks;      // of cpu_ticks: what sources took to change the level
  };
  void Ended(Piece piece);
  // In steps that have ended their thread was ready without a processor for so many ticks.
  void Waited(double ticks);

  // The level for `step`, which is recorded and follows the last that ended, where the plan says
  // `planned`.
  format::StepLevel LevelFor(uint64_t step, format::StepLevel planned);

  // What the recording has cost so far, as a share of the program's own time.
  double Held() const;

 private:
  // Levels are numbered here by how much they record.
  static constexpr int kLevels = 5, kMarks = 1;
  static constexpr double kNsPerWord = 60;
  static constexpr double kNsPerSwitch = 20'000;
  static constexpr int kNear = 6;                // pieces near a change that are compared, at most
  static constexpr int kSettled = 24;            // and of others
  static constexpr uint32_t kSettlingSteps = 7;  // behind the first of a stretch
  static constexpr double kLeastKept = 0.005;

  // The newest samples of one cost, in ticks.
  class Samples {
   public:
    void Add(double value);
    int count() const { return count_; }
    double middle() const { return middle_; }  // the mean of most of them
    double error2() const { return error2_; }  // of that, squared
    // What a quarter of them are below, and the square of its error.
    double low() const { return double{by_size_[count_ / 4]}; }
    double low_error2() const;

   private:
    void Measure();
    static constexpr int kMost = 160;
    float by_age_[kMost] = {}, by_size_[kMost] = {};
    int count_ = 0, oldest_ = 0;
    double middle_ = 0, error2_ = 0;
  };
  // What is averaged with the inverse squares of errors as weights.
  struct Weighted {
    double weights = 0, sum = 0;
    void Add(double value, double error2) { weights += 1 / error2, sum += value / error2; }
    void Add(const Weighted& other) { weights += other.weights, sum += other.sum; }
    double mean() const { return sum / weights; }
  };
  // A piece: what a step of it took of the processor, and wrote.
  struct Each {
    double ticks = 0, words = 0;
    uint32_t steps = 0;
  };
  struct Group {
    Each each[kSettled] = {};  // the nearest to a change first
    int count = 0;
    void Add(const Each& piece, int most) {
      if (count < most) each[count++] = piece;
    }
    // The mean of the shortest quarter of the first `of`.
    Each Shortest(int of) const;
  };
  // Pieces of one level in a row, and behind them the group on the side that is compared.
  struct Stretch {
    int level = 0;
    bool switched = false;  // it begins with a change
    double first = 0;       // ticks of its first step
    uint64_t steps = 0;     // behind that
    Each newest[kSettled] = {};
    uint64_t pieces = 0;
    Group near, settled;
  };

  void CountSwitch(Piece* piece);
  double WordsOf(int level) const { return words_[level] / std::max(counted_[level], 1.0); }
  double Guess(int level) const;
  double Unseen() const;
  Weighted Compared(const Samples* samples, int level) const;
  double CostOf(int level) const;
  double Own() const;
  double OwnOfStep() const { return Own() / std::max(all_steps_, 1.0); }
  double ColdAfterSwitch() const;
  double CostOfSwitch(int upper) const;
  double Spent() const;
  void BeginStretch(const Piece& piece);
  void Compare();
  void LookAtSwitch();
  double More(const Group& upper, const Group& lower, int level);
  double CostOfPlan(bool in_doubt) const;
  double CostOfControl() const;
  int Planned() const;
  bool Open() const;
  void ChooseRun(const StepRun& run);

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
  // The first step behind a change, the second, and what others near it took in excess of those
  // that had settled, all of them together.
  Samples first_, second_, settling_;
  Samples shortest_;            // steps, with the words of a usual one
  Samples switching_[kLevels];  // what sources took, by the upper level
  double switched_ticks_ = 0;   // all of it
  double words_[kLevels] = {}, steps_[kLevels] = {};
  double counted_[kLevels] = {};  // of the steps: those whose words are known
  double switches_ = 0, all_steps_ = 0;
  double ticks_ = 0, cpu_ticks_ = 0;  // ticks_: without waited_
  double waited_ = 0;                 // for a processor
  // Of the plan, lately.
  double planned_[kLevels] = {}, planned_switches_[kLevels] = {};  // these by their upper level
  double planned_hidden_ = 0;  // of the switches: to control steps or from them

  Stretch before_, now_;
  bool compared_ = true;  // these two
};

}  // namespace crosscut::record
