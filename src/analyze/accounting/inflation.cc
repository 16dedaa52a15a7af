// The comparison of profiled with control steps: robust location of each arm on a log scale,
// free of drift, with a block bootstrap of its influence function.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/intervals.h"
#include "src/analyze/length_groups.h"
#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr double kTrim = 0.2;  // of each tail
// Profiled steps on each side that make the local level. Few: a shared machine changes its speed
// within tens of steps.
constexpr size_t kNeighbours = 4;
constexpr size_t kMinSteps = 5;      // of a kind, in each arm, and in kMinLevelBlocks
constexpr size_t kMaxBlocks = 2000;  // of the bootstrap, in each arm
constexpr int kReplicates = 999;
// Control steps of two sessions of a process differ by so much (docs/accounting.md 5).
constexpr double kControlResidual = 0.01;
// Control steps are not free of us: their own edges are stamped, functions that adapters lead pass
// their calls on, and what the steps before them left in caches is gone. So they are longer than
// unrecorded steps: by no more than this, as measured where a step has this many operations, and in
// proportion where it has more; and by no more than this share of them (docs/step-plans.md has the
// measurements). No comparison of ours sees it.
constexpr double kControlFloorNs = 17'000, kFloorOperations = 3, kControlFloorShare = 0.05;

using Values = std::vector<double>;

// What is left when kTrim of each end is cut: bounds to winsorize at, and the mean between.
struct Trimmed {
  double low, high, mean;
};
Trimmed Trim(Values v) {
  std::sort(v.begin(), v.end());
  const auto cut = static_cast<size_t>(kTrim * static_cast<double>(v.size()));
  const double sum = std::accumulate(v.begin() + static_cast<ptrdiff_t>(cut),
                                     v.end() - static_cast<ptrdiff_t>(cut), 0.0);
  return {v[cut], v[v.size() - 1 - cut], sum / static_cast<double>(v.size() - 2 * cut)};
}

// Alike steps of one arm: their residuals against the local level, in blocks.
struct Arm {
  Values residuals, ns, probe_ns, timed_ns;
  std::vector<uint32_t> block;  // by residual, ascending: its number among those of the arm
};

// What the blocks of an arm, also those without alike steps, add to its trimmed mean, at most
// kMaxBlocks of them. They sum to 0.
struct Influence {
  Values of_block;
  double freedom = 0;  // blocks that have alike steps, but one
  double variance() const {
    return std::inner_product(of_block.begin(), of_block.end(), of_block.begin(), 0.0);
  }
};

// Requires: alike steps lie in two blocks at least.
Influence InfluenceOf(const Arm& arm, size_t blocks, const Trimmed& t) {
  const size_t per = (blocks + kMaxBlocks - 1) / kMaxBlocks;
  Influence out;
  out.of_block.resize((blocks + per - 1) / per);
  const auto n = static_cast<double>(arm.residuals.size());
  double mean = 0;
  for (const double r : arm.residuals) mean += std::clamp(r, t.low, t.high) / n;
  for (size_t i = 0; i < arm.residuals.size(); ++i) {
    const size_t block = arm.block[i] / per;
    out.freedom += i > 0 && block != arm.block[i - 1] / per;
    out.of_block[block] +=
        (std::clamp(arm.residuals[i], t.low, t.high) - mean) / (1 - 2 * kTrim) / n;
  }
  // The mean that they differ from is their own.
  const double scale = std::sqrt((out.freedom + 1) / std::max(out.freedom, 1.0));
  for (double& psi : out.of_block) psi *= scale;
  return out;
}

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  size_t Below(size_t n) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<size_t>((static_cast<unsigned __int128>(z ^ (z >> 31)) * n) >> 64);
  }

 private:
  uint64_t state_;
};

// By how much the arm's location moves when its blocks are drawn anew: the same for one `seed`, as
// what makes a block slow makes all sorts of its steps slow.
double Redraw(const Influence& influence, uint64_t seed) {
  Random random(seed);
  const size_t blocks = influence.of_block.size();
  double sum = 0;
  for (size_t i = 0; i < blocks; ++i) sum += influence.of_block[random.Below(blocks)];
  return sum;
}

// The control arm and one level's arm of alike steps.
struct Pair {
  uint8_t level = 0;
  Arm control, profiled;
  double log_ratio = 0, step_ns = 0, probe_ns = 0, timed_ns = 0;
  Influence control_influence, profiled_influence;
  double weight() const { return static_cast<double>(profiled.residuals.size()); }
  double excess(double shift) const { return step_ns * (1 - std::exp(-(log_ratio + shift))); }

  void Measure(size_t control_blocks, size_t profiled_blocks) {
    const Trimmed c = Trim(control.residuals), p = Trim(profiled.residuals);
    log_ratio = p.mean - c.mean;
    step_ns = Trim(profiled.ns).mean;
    probe_ns = Trim(profiled.probe_ns).mean;
    timed_ns = Trim(profiled.timed_ns).mean;
    control_influence = InfluenceOf(control, control_blocks, c);
    profiled_influence = InfluenceOf(profiled, profiled_blocks, p);
  }
};

// Number of the block of each step: a run of steps at one level, profiled runs cut to the length of
// control runs so that both arms' blocks mean the same.
std::vector<uint32_t> Blocks(const std::vector<StepSample>& steps) {
  Values lengths;
  for (size_t i = 0, run = 0; i < steps.size(); ++i) {
    ++run;
    const bool ends = i + 1 == steps.size() || steps[i + 1].level != steps[i].level;
    if (ends && steps[i].level == 0) lengths.push_back(static_cast<double>(run));
    if (ends) run = 0;
  }
  const size_t cut =
      lengths.empty() ? 3 : std::max<size_t>(3, static_cast<size_t>(MiddleOf(lengths)));
  std::vector<uint32_t> block(steps.size());
  uint32_t number = 0;
  for (size_t i = 1, run = 1; i < steps.size(); ++i) {
    const bool same = steps[i].level == steps[i - 1].level;
    if (!same || (steps[i].level != 0 && run >= cut)) {
      ++number;
      run = 0;
    }
    block[i] = number;
    ++run;
  }
  return block;
}

// The arm that a step is in; false: it is in none.
bool ArmOf(const StepSample& s, uint8_t& arm) {
  arm = s.switched ? SwitchArm(s.level) : s.level;
  return s.switched || s.counts;
}

// The blocks of each step, and their numbers among those of its arm.
struct BlockNumbers {
  std::vector<uint32_t> of_step;
  std::map<uint8_t, uint32_t> count;  // by arm
};
BlockNumbers NumberByArm(const std::vector<StepSample>& steps,
                         const std::vector<uint32_t>& blocks) {
  BlockNumbers out{std::vector<uint32_t>(steps.size()), {}};
  std::map<uint8_t, uint32_t> last;
  for (size_t i = 0; i < steps.size(); ++i) {
    uint8_t arm = 0;
    if (!ArmOf(steps[i], arm)) continue;
    const auto [at, first] = last.emplace(arm, blocks[i]);
    out.count[arm] += first || at->second != blocks[i];
    at->second = blocks[i];
    out.of_step[i] = out.count[arm] - 1;
  }
  return out;
}

double LogLength(const StepSample& s) {
  return std::log(static_cast<double>(std::max<int64_t>(1, s.ns)));
}

// The local level of every step of one kind: the median of the nearest steps of `reference` level.
Values LocalLevels(const std::vector<StepSample>& steps, const std::vector<uint32_t>& members,
                   uint8_t reference) {
  Values levels;               // of usable reference steps, in order
  std::vector<size_t> before;  // by member: how many of them stand before it
  for (const uint32_t i : members) {
    before.push_back(levels.size());
    if (steps[i].level == reference && steps[i].counts) levels.push_back(LogLength(steps[i]));
  }
  Values out;
  for (size_t m = 0; m < members.size(); ++m) {
    const StepSample& s = steps[members[m]];
    const bool itself = s.level == reference && s.counts;
    const size_t from = before[m] > kNeighbours ? before[m] - kNeighbours : 0;
    const size_t to = std::min(levels.size(), before[m] + kNeighbours + (itself ? 1 : 0));
    Values near;
    for (size_t i = from; i < to; ++i) {
      if (!(itself && i == before[m])) near.push_back(levels[i]);
    }
    out.push_back(near.empty() ? LogLength(s) : MiddleOf(std::move(near)));
  }
  return out;
}

void Append(Arm& arm, const StepSample& s, double residual, uint32_t block) {
  arm.residuals.push_back(residual);
  arm.block.push_back(block);
  arm.ns.push_back(static_cast<double>(s.ns));
  arm.probe_ns.push_back(static_cast<double>(s.probe_ps) / 1000);
  arm.timed_ns.push_back(static_cast<double>(s.timed_ns));
}

// By how much lengths of one arm lie above those of another, on a log scale: the median over their
// quantiles, so a few more long steps in one of them do not matter. Requires: both are sorted, and
// neither is empty.
double ShiftOf(const Values& from, const Values& to) {
  Values shifts;
  for (size_t percent = 5; percent <= 95; percent += 5) {
    shifts.push_back(to[RankOf(to.size(), percent)] - from[RankOf(from.size(), percent)]);
  }
  return MiddleOf(std::move(shifts));
}

// How many alike steps an arm has, and in how many blocks.
struct ArmCount {
  size_t steps = 0;
  int blocks = 0;
  uint32_t last_block = 0;
  void Add(uint32_t block) {
    blocks += steps++ == 0 || block != last_block;
    last_block = block;
  }
  bool is_enough() const { return steps >= kMinSteps && blocks >= kMinLevelBlocks; }
};
using ArmCounts = std::map<uint8_t, ArmCount>;
bool IsEnough(const ArmCounts& counts, uint8_t arm) {
  const auto at = counts.find(arm);
  return at != counts.end() && at->second.is_enough();
}

// Steps that are alike, and the local level of each.
struct Alike {
  std::vector<uint32_t> members;
  Values local;
};

class KindOfSteps {
 public:
  KindOfSteps(const std::vector<StepSample>& steps, std::vector<uint32_t> members,
              const BlockNumbers& blocks)
      : steps_(steps), blocks_(blocks) {
    for (const uint32_t i : members) {
      uint8_t arm = 0;
      if (!ArmOf(steps[i], arm)) continue;
      lengths_[arm].push_back(LogLength(steps[i]));
      counts_[arm].Add(blocks.of_step[i]);
    }
    whole_.members = std::move(members);
    for (auto& [arm, lengths] : lengths_) std::sort(lengths.begin(), lengths.end());
  }

  // Every profiled level against the control steps; too few of either: nothing.
  std::vector<Pair> Compare() {
    if (!IsEnough(counts_, 0) || !FindReference()) return {};
    whole_.local = LocalLevels(steps_, whole_.members, reference_);
    FindGroups();
    std::vector<Pair> pairs;
    for (const auto& [arm, lengths] : lengths_) {
      if (arm == 0 || !IsEnough(counts_, arm)) continue;
      const size_t before = pairs.size();
      for (const Group& group : groups_) {
        if (IsEnough(group.counts, arm)) pairs.push_back(PairOf(arm, group.alike));
      }
      if (pairs.size() == before) pairs.push_back(PairOf(arm, whole_));
    }
    return pairs;
  }

 private:
  struct Group {
    Alike alike;
    ArmCounts counts;
  };

  // The profiled level with most steps.
  bool FindReference() {
    for (const auto& [arm, lengths] : lengths_) {
      if (arm == 0 || IsSwitchArm(arm)) continue;
      if (reference_ == 0 || lengths.size() > lengths_[reference_].size()) reference_ = arm;
    }
    return reference_ != 0;
  }

  // Where a program makes steps of several sorts, which it does not tell, one arm has more of the
  // long ones, by chance or since blocks begin at multiples of its period, and the trimmed mean
  // then tells that as a cost. So each sort is compared by itself. The sorts are those of lengths
  // without what their levels add; the first steps after a switch may all be of one.
  void FindGroups() {
    std::map<uint8_t, double> shift;
    Values all;
    for (const auto& [arm, lengths] : lengths_) {
      if (IsSwitchArm(arm)) continue;
      shift[arm] = ShiftOf(lengths_[0], lengths);
      for (const double length : lengths) all.push_back(length - shift[arm]);
    }
    const LengthGroups groups(std::move(all));
    if (groups.count() == 1) return;
    groups_.resize(groups.count());
    for (const uint32_t i : whole_.members) {
      uint8_t arm = 0;
      if (!ArmOf(steps_[i], arm)) continue;
      const size_t group = groups.Of(LogLength(steps_[i]) - shift[steps_[i].level]);
      groups_[group].alike.members.push_back(i);
      groups_[group].counts[arm].Add(blocks_.of_step[i]);
    }
    for (Group& group : groups_) {
      const bool enough = IsEnough(group.counts, 0) && IsEnough(group.counts, reference_);
      if (!enough) return groups_.clear();
      group.alike.local = LocalLevels(steps_, group.alike.members, reference_);
    }
  }

  Pair PairOf(uint8_t arm, const Alike& of) {
    Pair pair;
    pair.level = arm;
    for (size_t m = 0; m < of.members.size(); ++m) {
      const uint32_t i = of.members[m];
      uint8_t own = 0;
      if (!ArmOf(steps_[i], own) || (own != 0 && own != arm)) continue;
      Append(own == 0 ? pair.control : pair.profiled, steps_[i], LogLength(steps_[i]) - of.local[m],
             blocks_.of_step[i]);
    }
    pair.Measure(blocks_.count.at(0), blocks_.count.at(arm));
    return pair;
  }

  const std::vector<StepSample>& steps_;
  const BlockNumbers& blocks_;
  Alike whole_;
  std::vector<Group> groups_;          // empty: all are alike
  std::map<uint8_t, Values> lengths_;  // by arm: logarithms, sorted
  ArmCounts counts_;
  uint8_t reference_ = 0;
};

// The pairs of several sorts of steps together; they weigh by their profiled steps.
struct Sums {
  double weight = 0, total = 0, excess = 0, estimated = 0, timed = 0;
  double step_ns() const { return total / weight; }
  double control_step_ns() const { return (total - excess) / weight; }
  double log_ratio() const { return std::log(total / (total - excess)); }
};
Sums SumOf(const std::vector<Pair>& pairs) {
  Sums sums;
  for (const Pair& p : pairs) {
    sums.weight += p.weight();
    sums.total += p.weight() * p.step_ns;
    sums.excess += p.weight() * p.excess(0);
    sums.estimated += p.weight() * p.probe_ns;
    sums.timed += p.weight() * p.timed_ns;
  }
  return sums;
}

double StandardError(const std::vector<Pair>& pairs, double total_ns) {
  Values draws;
  for (uint64_t r = 0; r < kReplicates; ++r) {
    double excess = 0;
    for (const Pair& p : pairs) {
      // The control steps' seed is that of level 0.
      const double shift =
          Redraw(p.profiled_influence, r << 8 | p.level) - Redraw(p.control_influence, r << 8);
      excess += p.weight() * p.excess(shift);
    }
    draws.push_back(-std::log1p(-std::min(0.99, excess / total_ns)));
  }
  const double mean = std::accumulate(draws.begin(), draws.end(), 0.0) / kReplicates;
  double squares = 0;
  for (const double d : draws) squares += (d - mean) * (d - mean);
  return std::sqrt(squares / (kReplicates - 1));
}

void Count(const std::vector<StepSample>& steps, const std::vector<uint32_t>& blocks,
           Inflation& out) {
  uint32_t last_control = UINT32_MAX, last_profiled = UINT32_MAX;
  for (size_t i = 0; i < steps.size(); ++i) {
    out.settling_steps += steps[i].settles;
    if (!steps[i].counts) continue;
    if (steps[i].level == trace::kMarksLevel) continue;
    const bool control = steps[i].level == 0;
    ++(control ? out.control_steps : out.profiled_steps);
    uint32_t& last = control ? last_control : last_profiled;
    if (blocks[i] != last) ++(control ? out.control_blocks : out.profiled_blocks);
    last = blocks[i];
  }
}

// Degrees of freedom of the pairs' excess (Satterthwaite's): those of the sort of steps whose
// blocks leave most of it open. A sort may come in few blocks, and take long.
double FreedomOf(const std::vector<Pair>& pairs) {
  double sum = 0, squares = 0;
  for (const Pair& p : pairs) {
    for (const Influence* of : {&p.control_influence, &p.profiled_influence}) {
      const double variance = std::pow(p.weight() * p.step_ns, 2) * of->variance();
      sum += variance;
      squares += variance * variance / of->freedom;
    }
  }
  return squares > 0 ? sum * sum / squares : std::numeric_limits<double>::infinity();
}

// Half of the 95 % interval on a log scale, where the smaller arm has `fewest` blocks.
double HalfWidth(const std::vector<Pair>& pairs, const Sums& sums, int64_t fewest) {
  const double t = StudentFactor(std::min(static_cast<double>(fewest - 1), FreedomOf(pairs)));
  return Combined(t * StandardError(pairs, sums.total), kControlResidual);
}

// The pairs of one level; nothing where it has too few blocks.
void AddLevel(const std::vector<Pair>& pairs, int64_t control_blocks, Inflation& out) {
  LevelInflation level;
  std::set<uint32_t> blocks;
  for (const Pair& p : pairs) {
    level.level = p.level;
    level.steps += static_cast<int64_t>(p.profiled.residuals.size());
    blocks.insert(p.profiled.block.begin(), p.profiled.block.end());
  }
  level.blocks = static_cast<int64_t>(blocks.size());
  const Sums sums = SumOf(pairs);
  if (level.blocks < kMinLevelBlocks || sums.total <= 0) return;
  const double half = HalfWidth(pairs, sums, std::min(level.blocks, control_blocks));
  level.ratio = std::exp(sums.log_ratio());
  level.low = std::exp(sums.log_ratio() - half);
  level.high = std::exp(sums.log_ratio() + half);
  level.step_ns = sums.step_ns();
  level.estimated_ns = sums.estimated / sums.weight;
  level.timed_ns = sums.timed / sums.weight;
  out.levels.push_back(level);
}

}  // namespace

double ControlFloor(const Inflation& inflation) {
  if (inflation.control_step_ns <= 0) return 0;
  const double times = std::max(1.0, inflation.operations / kFloorOperations);
  return std::min(times * kControlFloorNs / inflation.control_step_ns, kControlFloorShare);
}

LevelInflation MeanInflation(const Inflation& inflation) {
  const int64_t controls = inflation.control_steps + inflation.settling_steps;
  LevelInflation mean = {0, controls, inflation.control_blocks};
  const auto control = static_cast<double>(controls);
  double n = control, ratio = control, low = control, high = control;
  for (const LevelInflation& level : inflation.levels) {
    const auto steps = static_cast<double>(level.steps);
    mean.steps += level.steps;
    mean.blocks += level.blocks;
    n += steps;
    ratio += steps * level.ratio;
    low += steps * level.low;
    high += steps * level.high;
  }
  if (n <= 0) return mean;
  const double control_ns = std::max(1.0, inflation.control_step_ns);
  mean.step_ns = inflation.control_step_ns * ratio / n;
  mean.ratio = ratio / n + inflation.unswitched_ns / control_ns;
  mean.low = low / n + inflation.unswitched_low_ns / control_ns;
  mean.high = high / n + inflation.unswitched_high_ns / control_ns + ControlFloor(inflation);
  return mean;
}

Inflation MeasureInflation(const std::vector<StepSample>& steps) {
  Inflation out;
  const std::vector<uint32_t> blocks = Blocks(steps);
  Count(steps, blocks, out);
  const int64_t fewest = std::min(out.control_blocks, out.profiled_blocks);
  if (fewest < kMinBlocks) {
    const bool control = out.control_blocks < kMinBlocks;
    out.why_not = std::string("too few ") + (control ? "control" : "profiled") + " steps, " +
                  std::to_string(fewest) + " of " + std::to_string(kMinBlocks) + " blocks";
    return out;
  }
  std::map<uint32_t, std::vector<uint32_t>> kinds;
  for (uint32_t i = 0; i < steps.size(); ++i) kinds[steps[i].kind].push_back(i);
  const BlockNumbers numbers = NumberByArm(steps, blocks);
  std::vector<Pair> pairs;
  std::map<uint8_t, std::vector<Pair>> by_level;
  for (auto& [kind, members] : kinds) {
    for (Pair& p : KindOfSteps(steps, std::move(members), numbers).Compare()) {
      by_level[p.level].push_back(p);
      const bool profiled = !IsSwitchArm(p.level) && p.level != trace::kMarksLevel;
      if (profiled) pairs.push_back(std::move(p));
    }
  }
  const Sums sums = SumOf(pairs);
  if (sums.weight == 0 || sums.total <= 0) {
    out.why_not = "no kind of step has " + std::to_string(kMinSteps) +
                  " control steps and as many profiled ones, in " +
                  std::to_string(kMinLevelBlocks) + " blocks each";
    return out;
  }
  out.checked = true;
  out.step_ns = sums.step_ns();
  out.control_step_ns = sums.control_step_ns();
  out.estimated_ns = sums.estimated / sums.weight;
  out.timed_ns = sums.timed / sums.weight;
  const double log_ratio = std::log(out.step_ns / out.control_step_ns);
  const double half = HalfWidth(pairs, sums, fewest);
  out.ratio = std::exp(log_ratio);
  out.low = std::exp(log_ratio - half);
  out.high = std::exp(log_ratio + half);
  for (const auto& [level, of_level] : by_level) AddLevel(of_level, out.control_blocks, out);
  return out;
}

}  // namespace crosscut::analyze
