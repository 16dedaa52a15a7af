// Crosscut's own cost in one process: measured by control steps, estimated by counting probes,
// and subtracted. docs/accounting.md has the formulas and the reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/accounting/overlap.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// One step as the comparison sees it.
struct StepSample {
  int64_t ns = 0;         // its length, pauses excluded
  int64_t probe_ps = 0;   // what its probes should have cost
  int64_t timed_ns = 0;   // of it, timed as layer overhead alone
  uint32_t kind = 0;      // any number that tells kinds apart
  uint8_t level = 0;      // 0: control
  bool counts = true;     // false: the first step after a switch, or broken by a pause
  bool switched = false;  // the first step after a switch, otherwise whole
};

// The arms of the first steps after a switch: profiled ones, whichever level they have, and control
// steps, in which the probes were withdrawn.
inline constexpr uint8_t kSwitchedArm = 255, kToControlArm = 254;
inline constexpr uint8_t SwitchArm(uint8_t level) {
  return level == 0 ? kToControlArm : kSwitchedArm;
}
inline constexpr bool IsSwitchArm(uint8_t arm) { return arm >= kToControlArm; }

// The steps of one level, or of an arm of switches, against control steps of the same kinds.
struct LevelInflation {
  uint8_t level = 0;
  int64_t steps = 0, blocks = 0;
  double ratio = 1, low = 1, high = 1;  // with its 95 % interval
  // Of a typical step at this level.
  double step_ns = 0, estimated_ns = 0, timed_ns = 0;
};

// How far the typical step of one run lies from that of another, on an idle machine: memory layout
// and the like. Standard deviation 1 % in three programs.
inline constexpr double kLayoutSpread = 0.01;

// What a standard error of `freedom` degrees is multiplied by for a 95 % interval: near Student's
// t, and for what a bootstrap of so few blocks lacks.
double StudentFactor(double freedom);

// Profiled steps against control steps of the same kind.
struct Inflation {
  bool checked = false;
  std::string why_not;  // where not checked: "too few control steps, 12 of 20 blocks"
  int64_t control_steps = 0, control_blocks = 0;
  int64_t profiled_steps = 0, profiled_blocks = 0;
  // profiled / control, with its 95 % interval. 1 where not checked.
  double ratio = 1, low = 1, high = 1;
  // Of a typical profiled step: its length, and what of it the probes should have cost.
  double step_ns = 0, control_step_ns = 0, estimated_ns = 0, timed_ns = 0;
  // By level; those with at least kMinLevelBlocks. Empty where not checked.
  std::vector<LevelInflation> levels;
};
inline constexpr int kMinBlocks = 20;
inline constexpr int kMinLevelBlocks = 5;

// What the session cost its steps on average: all levels, control steps and the first steps after a
// switch, by their numbers. Bounds as if the levels' errors went together.
LevelInflation MeanInflation(const Inflation& inflation);

// `steps` in order of time. Deterministic.
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
// From the control steps, where they were compared (each level weighs by how sharply its probes'
// cost shows), and from how far programs usually are from their calibration
// (docs/decisions/0002-scale-from-both.md), which says nothing where that is not the whole cost
// (0006-cost-of-other-profilers.md).
Scale ScaleOf(const Inflation& inflation, const Calibration& calibration);

// What Crosscut cost, told from counts and times: `scale` times the probes' calibrated cost, and
// beyond that the given parts of the time in profiled and in control steps right after a switch.
struct Estimate {
  double scale = 1;
  double after_switch = 0, to_control = 0;
};
// With its 95 % bounds; low: the least was ours.
struct Estimates {
  Estimate value, low, high;
};
// A switch costs what the comparison of first steps with other control steps says, no part of it
// below 0; nothing where that could not be compared.
Estimates EstimatesOf(const Inflation& inflation, const Scale& scale, const trace::Process& process,
                      const ProcessOverlap& overlap);

// raw - estimate, cell by cell.
struct Correction {
  std::vector<int64_t> corrected_ns;  // by cell
  int64_t estimated_ns = 0;           // sum of all estimates
  int64_t unplaced_ns = 0;            // what did not fit into its cell
};
// Whole nanoseconds by largest remainder: sum(raw) - sum(corrected) + unplaced = estimated. Of
// control cells nothing but switches is ours; time in layer overhead alone is all ours.
Correction Correct(const std::vector<Cell>& cells, const Estimate& estimate);

// 95 % bounds of what a run without Crosscut would show where this one's corrected time lies in
// [low, high] at the bounds of the scale: wider by how much separate runs of one program differ, of
// which `spread` is the standard deviation, relative. Nothing was corrected where low == high: it
// stays so.
struct Bounds {
  int64_t low, high;
};
Bounds OfUnrecordedRun(int64_t corrected, Bounds of_scale, double spread);
// The same where something was subtracted, even if its size is known exactly (timed, no probes).
Bounds OfSeparateRun(int64_t corrected, Bounds of_scale, double spread);

std::vector<StepSample> SampleSteps(const trace::Process& process, const ProcessEvents& events,
                                    const ProcessOverlap& overlap);

}  // namespace crosscut::analyze
