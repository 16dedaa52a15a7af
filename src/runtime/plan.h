// Which level of recording each step of the main loop gets.
//
// Steps come in blocks of kBlockSteps, blocks in groups. In each group a hash of (seed, group)
// picks one pair of neighbouring blocks, which of the two is recorded at a reduced level, and that
// level by the shares; everything else is recorded at kLevelEverything. So every control block has
// a profiled one beside it, chosen at random, and all processes of a run that count their steps
// alike switch alike. The first kEarlyGroups groups are short, so that a program of some hundred
// steps has control blocks enough for a comparison; later groups are as long as the shares ask.
// Where reduced levels take more than half of the steps, each block draws its level by itself. Pure
// functions of the seed: nothing is stored.
#pragma once

#include <cstdint>

#include "src/format/format.h"

namespace crosscut::record {

class StepPlan {
 public:
  static constexpr uint64_t kBlockSteps = 3;
  static constexpr int kLevels = 4;
  static constexpr uint64_t kEarlyGroups = 24;
  static constexpr uint64_t kEarlyGroupBlocks = 6;

  // Shares of the steps per level, in millionths; what they leave goes to kLevelEverything.
  void Set(uint64_t seed, const uint32_t (&shares)[kLevels]);
  // Control and recorded, `control_percent` (0 to 100) of the steps being control steps.
  void SetControl(uint64_t seed, double control_percent);

  format::StepLevel LevelOf(uint64_t step) const;

 private:
  struct Place {
    uint64_t group, in_group, group_blocks;
  };
  Place PlaceOf(uint64_t block) const;
  format::StepLevel Draw(uint64_t hash) const;

  uint64_t seed_ = 0;
  uint32_t shares_[kLevels] = {};
  uint32_t reduced_ = 0;       // millionths below kLevelEverything
  uint64_t group_blocks_ = 0;  // 0: each block by itself
};

}  // namespace crosscut::record
