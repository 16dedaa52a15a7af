#include "src/runtime/plan.h"

#include <algorithm>

namespace crosscut::record {
namespace {

using format::kWholeShare;

uint64_t Mix(uint64_t seed, uint64_t number) {
  uint64_t z = seed ^ number * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  z ^= z >> 31;
  z = (z + seed) * 0x9fb21c651e98df25;
  return z ^ z >> 32;
}

// Groups of one length of blocks, behind those before.
struct Stage {
  uint64_t groups, block_steps;
};
constexpr Stage kStages[] = {
    {StepPlan::kEarlyGroups, StepPlan::kEarlyBlockSteps}, {16, 6}, {UINT64_MAX, 24}};

// Blocks that are due before group `group`, of `per_group` millionths in each.
uint64_t DueBefore(uint64_t group, uint64_t per_group, uint64_t phase) {
  const auto exact = static_cast<unsigned __int128>(group) * per_group + phase;
  return static_cast<uint64_t>(exact / kWholeShare);
}

}  // namespace

void StepPlan::Set(uint64_t seed, const format::StepShares& shares) {
  seed_ = seed;
  shares_ = shares;
  base_ = format::kLevelEverything;
  for (int level = kLevels - 1; level >= 0; --level) {
    if (shares.of[level] > shares.of[base_]) base_ = static_cast<format::StepLevel>(level);
  }
  const int base = static_cast<int>(base_);
  uint32_t largest = 0;
  for (int level = 0; level < kLevels; ++level) {
    if (level != base) largest = std::max(largest, shares.of[level]);
  }
  drawn_ = largest == 0 || shares.of[base] < kWholeShare / 2;
  group_blocks_ = drawn_ ? 0 : (kWholeShare + largest / 2) / largest;
  group_blocks_ = std::max(group_blocks_, kLeastGroupBlocks);
  group_blocks_ += group_blocks_ % 2;
  // Without everything in the plan, a base of control has nothing that could open it.
  const bool whole = base_ < format::kLevelOperators && shares.of[format::kLevelEverything] > 0;
  opening_level_ = whole ? format::kLevelEverything : base_;
  opening_steps_ = opening_level_ == format::kLevelControl ? 0 : kOpeningSteps;
}

format::StepLevel StepPlan::Draw(uint64_t hash) const {
  uint64_t at = hash % kWholeShare;
  for (int level = 0; level < kLevels; ++level) {
    if (at < shares_.of[level]) return static_cast<format::StepLevel>(level);
    at -= shares_.of[level];
  }
  return base_;
}

StepPlan::Place StepPlan::PlaceOf(uint64_t step) const {
  Place place = {0, 0, kEarlyGroupBlocks, opening_steps_, 0};
  for (const Stage& stage : kStages) {
    place.block_steps = stage.block_steps;
    const uint64_t group_steps = place.group_blocks * stage.block_steps;
    const uint64_t groups = (step - place.block_begin) / group_steps;
    place.group += std::min(groups, stage.groups);
    place.block_begin += std::min(groups, stage.groups) * group_steps;
    if (groups < stage.groups) break;
    place.group_blocks = group_blocks_;
  }
  place.in_group = (step - place.block_begin) / place.block_steps;
  place.block_begin += place.in_group * place.block_steps;
  return place;
}

// In early groups, levels that are not due in each of them: a control block all the same, and one
// of the others, which take turns. Else so many blocks that the shares are met over all groups.
StepPlan::Due StepPlan::DueIn(const Place& place) const {
  const bool early = place.group < kEarlyGroups;
  const uint64_t room = place.group_blocks / 2;
  format::StepLevel turns[kLevels];
  uint64_t turn_count = 0;
  Due due = {};
  const auto add = [&](format::StepLevel level, uint64_t n) {
    for (; n > 0 && due.count < room && due.count < kMostInGroup; --n) {
      due.level[due.count++] = level;
    }
  };
  for (int i = 0; i < kLevels; ++i) {
    const auto level = static_cast<format::StepLevel>(i);
    if (level == base_ || shares_.of[i] == 0) continue;
    const uint64_t per_group = place.group_blocks * shares_.of[i];
    if (early && per_group < kWholeShare) {
      if (level == format::kLevelControl) {
        add(level, 1);
      } else {
        turns[turn_count++] = level;
      }
      continue;
    }
    const uint64_t phase = Mix(~seed_, static_cast<uint64_t>(i)) % kWholeShare;
    const uint64_t group = early ? place.group : place.group - kEarlyGroups;
    add(level, DueBefore(group + 1, per_group, phase) - DueBefore(group, per_group, phase));
  }
  if (turn_count > 0) add(turns[turn_count - 1 - place.group % turn_count], 1);
  return due;
}

format::StepLevel StepPlan::LevelOf(uint64_t step) const {
  if (step < opening_steps_) return opening_level_;
  if (shares_.of[base_] == kWholeShare) return base_;
  const Place place = PlaceOf(step);
  if (drawn_) return Draw(Mix(seed_, place.block_begin));
  const Due due = DueIn(place);
  const uint64_t pairs = place.group_blocks / 2;
  const uint64_t hash = Mix(seed_, place.group);
  const uint64_t sides = Mix(seed_, ~place.group);
  for (uint64_t i = 0; i < due.count; ++i) {
    const uint64_t pair = ((hash >> 1) + i * pairs / due.count) % pairs;
    const uint64_t side = (i == 0 ? hash : sides >> i) & 1;
    if (place.in_group == 2 * pair + side) return due.level[i];
  }
  return base_;
}

}  // namespace crosscut::record
