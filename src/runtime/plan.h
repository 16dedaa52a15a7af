// Which level of recording each step of the main loop gets.
//
// Steps come in blocks of kBlockSteps or more, blocks in groups. The level with the largest share
// is the base. In each group a hash of (seed, group) picks pairs of neighbouring blocks, one for
// each block of another level that is due, and which of the two gets it; the rest is at the base.
// So every control block has a block of the base beside it, chosen at random, and all processes of
// a run that count their steps alike switch alike. The first kEarlyGroups groups are short and hold
// a control block each, and one of the rarer levels in turn, so that a program of some hundred
// steps has blocks enough for a comparison; later groups are as long as the shares ask, and where
// several levels take turns their blocks are of kLaterBlockSteps: half as many switches. Where the
// base is less than operators, the first kOpeningBlocks are recorded with everything, so that very
// short programs are recorded whole. Where the base has less than half of the steps, each block
// draws its level by itself. Pure functions of the seed: nothing is stored.
#pragma once

#include <cstdint>

#include "src/format/format.h"
#include "src/format/step_shares.h"

namespace crosscut::record {

class StepPlan {
 public:
  static constexpr uint64_t kBlockSteps = 3;
  static constexpr uint64_t kLaterBlockSteps =
      6;  // in later groups, where several are not the base
  static constexpr int kLevels = format::kStepLevels;
  static constexpr uint64_t kEarlyGroups = 24;
  static constexpr uint64_t kEarlyGroupBlocks = 6;
  static constexpr uint64_t kLeastGroupBlocks = 20;  // of later groups
  static constexpr uint64_t kOpeningBlocks = 2;

  void Set(uint64_t seed, const format::StepShares& shares);

  format::StepLevel LevelOf(uint64_t step) const;

 private:
  static constexpr int kMostInGroup = 16;
  struct Place {
    uint64_t group, in_group, group_blocks;
  };
  // The levels of a group that are not the base, one for each block.
  struct Due {
    format::StepLevel level[kMostInGroup];
    uint64_t count;
  };
  uint64_t BlockOf(uint64_t step) const;
  Place PlaceOf(uint64_t block) const;
  Due DueIn(const Place& place) const;
  format::StepLevel Draw(uint64_t hash) const;

  uint64_t seed_ = 0;
  format::StepShares shares_ = {{0, 0, 0, format::kWholeShare}};
  format::StepLevel base_ = format::kLevelEverything;
  uint64_t group_blocks_ = 0;  // 0: each block by itself
  uint64_t opening_ = 0;       // blocks
  uint64_t later_steps_ = kBlockSteps;
};

}  // namespace crosscut::record
