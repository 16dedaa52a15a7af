// Crosscut's own cost in one process: control steps measure it, counts of probes estimate it, and
// the correction subtracts it. docs/accounting.md has the formulas and the reasons.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/accounting/overlap.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// One step as the comparison sees it.
struct StepSample {
  int64_t ns = 0;        // its length without pauses
  int64_t probe_ps = 0;  // what its probes should have cost by calibration
  int64_t timed_ns = 0;  // the part of ns that was timed as layer overhead alone
  uint32_t kind = 0;     // any number that tells kinds apart
  uint8_t level = 0;     // 0: control
  // false: one of the next two, broken by a pause, empty or without an end
  bool counts = true;
  bool switched = false;  // it would count, but is the first step after a switch
  bool settles = false;   // likewise, but is one of the next control steps where many follow
};

// The arms of the first steps after a switch: kSwitchedArm has the profiled ones of all levels,
// kToControlArm the control steps, in which the probes were withdrawn.
inline constexpr uint8_t kSwitchedArm = 255, kToControlArm = 254;
inline constexpr uint8_t SwitchArm(uint8_t level) {
  return level == 0 ? kToControlArm : kSwitchedArm;
}
inline constexpr bool IsSwitchArm(uint8_t arm) { return arm >= kToControlArm; }

// The steps of one level, or of an arm of switches, against control steps of the same kinds.
struct LevelInflation {
  uint8_t level = 0;  // or an arm of switches
  int64_t steps = 0, blocks = 0;
  double ratio = 1, low = 1, high = 1;  // these steps / control steps, with its 95 % interval
  // Of a typical step at this level: its length, the calibrated cost of its probes, its timed part.
  double step_ns = 0, estimated_ns = 0, timed_ns = 0;
};

// How far the typical step of one run lies from that of another on an idle machine, because of
// memory layout and the like: a relative standard deviation, 1 % in three programs.
inline constexpr double kLayoutSpread = 0.01;

// The error of a sum or product of what has these two and is independent. Not std::hypot: glibc's
// asks for glibc 2.35 since it no longer sets errno.
inline double Combined(double one, double other) { return std::sqrt(one * one + other * other); }

// Profiled steps against control steps of the same kind.
struct Inflation {
  bool checked = false;  // false: the comparison was not possible
  std::string why_not;   // where not checked: "too few control steps, 12 of 20 blocks"
  int64_t control_steps = 0, control_blocks = 0;
  int64_t profiled_steps = 0, profiled_blocks = 0;
  int64_t settling_steps = 0;  // StepSample::settles: compared with nothing
  // profiled / control, with its 95 % interval. 1 where not checked.
  double ratio = 1, low = 1, high = 1;
  // Of a typical profiled step: its length, that of a control step, the calibrated cost of its
  // probes, and its timed part. 0 where not checked.
  double step_ns = 0, control_step_ns = 0, estimated_ns = 0, timed_ns = 0;
  // That begin in a step, on average: what they were recorded by stays in control steps.
  double operations = 0;
  // What probes cost a profiled step that control steps have, too, with its bounds.
  double unswitched_ns = 0, unswitched_low_ns = 0, unswitched_high_ns = 0;
  // By level, then the arms of switches: those with at least kMinLevelBlocks. Empty where not
  // checked.
  std::vector<LevelInflation> levels;
};
// A comparison needs this many blocks of neighbouring steps in each arm, one level this many.
inline constexpr int kMinBlocks = 20;
inline constexpr int kMinLevelBlocks = 5;

// The share by which control steps may be longer than unrecorded ones. 0 where not checked.
double ControlFloor(const Inflation& inflation);

// What the session cost its steps on average: over all levels, control steps, those that settle
// included, and the first steps after a switch, weighted by their numbers, with what probes cost in
// control steps as well. The bounds assume that the levels' errors go together; the upper one has
// what control steps may cost beside that.
LevelInflation MeanInflation(const Inflation& inflation);

// Compares the steps of each kind. Requires: `steps` are in order of time. Deterministic.
Inflation MeasureInflation(const std::vector<StepSample>& steps);

// What multiplies the probes' calibrated cost, with its 95 % interval.
struct Scale {
  double value = 1, low = 1, high = 1;  // above 0
};
// 95 % bounds of the calibrated cost of a process's probes, relative to it: low <= 1 <= high.
struct Calibration {
  double low = 1, high = 1;
  bool whole = true;  // false: something cost time that no probe stands for
};
// Combines two things. One is the comparison with control steps, where there is one; each level
// weighs by how sharply its probes' cost shows. The other is how far programs usually are from
// their calibration (docs/decisions/0002-scale-from-both.md). The second says nothing where the
// calibration is not the whole cost and a comparison exists (0006-cost-of-other-profilers.md).
Scale ScaleOf(const Inflation& inflation, const Calibration& calibration);

// What Crosscut cost, estimated from counts and times: `scale` times the probes' calibrated cost,
// `unswitched` times what they cost that no control step shows, and in addition these parts of the
// time in the first steps after a switch: `after_switch` of profiled steps, `to_control` of control
// steps. Of control steps, which record no probes, the part `in_control` is taken for what they
// cost there, times `unswitched`. `floor` of all steps may be what control steps cost beside that.
struct Estimate {
  double scale = 1;
  double after_switch = 0, to_control = 0;
  double unswitched = 1;
  double in_control = 0, floor = 0;
};
// An estimate with its 95 % bounds; `low`: Crosscut cost the least.
struct Estimates {
  Estimate value, low, high;
};
// A switch costs what the comparison of first steps with other control steps says, and no part of
// it is below 0. It costs nothing where they could not be compared. Only `high` has a floor.
Estimates EstimatesOf(const Inflation& inflation, const Scale& scale, const trace::Process& process,
                      const ProcessOverlap& overlap);

// The part of the cell's time in first steps after a switch that the switch took.
double SwitchedShare(const Estimate& estimate, const Cell& cell);
// What probes cost in the cell that control steps have, too, in nanoseconds.
double UnswitchedNs(const Estimate& estimate, const Cell& cell);
// All that Crosscut cost in the cell, in nanoseconds; may be more than its time.
double CostNs(const Estimate& estimate, const Cell& cell);

// raw - estimate, cell by cell.
struct Correction {
  std::vector<int64_t> corrected_ns;  // by cell; never below 0
  int64_t estimated_ns = 0;           // sum of all estimates
  int64_t unplaced_ns = 0;            // what did not fit into its cell
};
// Rounds to whole nanoseconds by largest remainder: sum(raw) - sum(corrected) + unplaced =
// estimated. Time in layer overhead alone is Crosscut's cost entirely.
Correction Correct(const std::vector<Cell>& cells, const Estimate& estimate);

struct Bounds {
  int64_t low, high;
};
// 95 % bounds of what a run without Crosscut would show. `of_scale` is this run's corrected time at
// the bounds of the scale; the result is wider because separate runs of one program differ:
// `spread` is their relative standard deviation. Returns `of_scale` where its bounds are equal,
// because nothing was corrected then.
Bounds OfUnrecordedRun(int64_t corrected, Bounds of_scale, double spread);
// The same where something was subtracted: widens even if its size is known exactly (timed, no
// probes).
Bounds OfSeparateRun(int64_t corrected, Bounds of_scale, double spread);

// Control steps right behind a change are a few per cent longer than those that follow: caches and
// branch predictors hold what recording used. So the first six of twelve or more in a row are no
// base, but of kinds of which at least as many lie behind those: a kind that comes at the begin of
// blocks (an evaluation, a rollout) keeps all that it has. By step.
std::vector<bool> SettlingControlSteps(const trace::Process& process);

// All steps of the process, in their order.
std::vector<StepSample> SampleSteps(const trace::Process& process, const ProcessEvents& events,
                                    const ProcessOverlap& overlap);

}  // namespace crosscut::analyze
