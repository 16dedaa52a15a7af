// Which level of recording each step of the main loop gets.
//
// Steps come in blocks, blocks in groups. The level with the largest share is the base. In each
// group a hash of (seed, group) picks pairs of neighbouring blocks, one for each block of another
// level that is due, and which of the two gets it; the rest is at the base. So every control block
// has a block of the base beside it, chosen at random, and all processes of a run that count their
// steps alike switch alike. The first groups are short and hold a control block each, and one of
// the rarer levels in turn, so that a program of some hundred steps has blocks enough for a
// comparison; later groups are as long as the shares ask. A change of level costs as much as some
// hundred calls, and the steps behind it are not at their pace yet. So blocks grow with the steps
// that have been: whoever has a thousand steps a second has blocks in which nearly all are.
// The first kOpeningSteps are no control steps, so that very short programs are recorded whole:
// they have the level of the base, and everything where the base is less than operators. Where the
// base has less than half of the steps, each block draws its level by itself. Pure functions of the
// seed: nothing is stored.
#pragma once

#include <cstdint>

#include "src/format/format.h"
#include "src/format/step_shares.h"

namespace crosscut::record {

class StepPlan {
 public:
  static constexpr int kLevels = format::kStepLevels;
  static constexpr uint64_t kOpeningSteps = 6;
  static constexpr uint64_t kEarlyGroups = 24;
  static constexpr uint64_t kEarlyGroupBlocks = 6;
  static constexpr uint64_t kEarlyBlockSteps = 3;
  static constexpr uint64_t kLeastGroupBlocks = 20;  // of later groups

  void Set(uint64_t seed, const format::StepShares& shares);

  format::StepLevel LevelOf(uint64_t step) const;

  // Where a step stands. Blocks of one group are equally long.
  struct Place {
    uint64_t group, in_group, group_blocks;
    uint64_t block_begin, block_steps;
  };
  // Requires: `step` is none of the opening ones.
  Place PlaceOf(uint64_t step) const;
  uint64_t opening_steps() const { return opening_steps_; }

 private:
  static constexpr int kMostInGroup = 16;
  // The levels of a group that are not the base, one for each block.
  struct Due {
    format::StepLevel level[kMostInGroup];
    uint64_t count;
  };
  Due DueIn(const Place& place) const;
  format::StepLevel Draw(uint64_t hash) const;

  uint64_t seed_ = 0;
  format::StepShares shares_ = {{0, 0, 0, format::kWholeShare}};
  format::StepLevel base_ = format::kLevelEverything;
  bool drawn_ = true;                          // each block by itself
  uint64_t group_blocks_ = kLeastGroupBlocks;  // of later groups
  uint64_t opening_steps_ = 0;
  format::StepLevel opening_level_ = format::kLevelEverything;
};

}  // namespace crosscut::record
