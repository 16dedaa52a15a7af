#include "src/runtime/plan.h"

#include <math.h>

namespace crosscut::record {
namespace {

constexpr uint32_t kMillion = 1'000'000;

uint64_t Mix(uint64_t seed, uint64_t number) {
  uint64_t z = seed ^ number * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  z ^= z >> 31;
  z = (z + seed) * 0x9fb21c651e98df25;
  return z ^ z >> 32;
}

}  // namespace

void StepPlan::Set(uint64_t seed, const uint32_t (&shares)[kLevels]) {
  seed_ = seed;
  reduced_ = 0;
  for (int level = 0; level < kLevels; ++level) {
    const bool reduced = level < int{format::kLevelEverything};
    shares_[level] = reduced ? shares[level] : 0;
    if (shares_[level] > kMillion - reduced_) shares_[level] = kMillion - reduced_;
    reduced_ += shares_[level];
  }
  group_blocks_ =
      reduced_ == 0 || reduced_ > kMillion / 2 ? 0 : (kMillion + reduced_ / 2) / reduced_;
}

void StepPlan::SetControl(uint64_t seed, double control_percent) {
  if (!(control_percent > 0)) control_percent = 0;
  if (control_percent > 100) control_percent = 100;
  Set(seed, {static_cast<uint32_t>(lround(control_percent * 10'000)), 0, 0, 0});
}

format::StepLevel StepPlan::Draw(uint64_t hash) const {
  uint64_t at = hash % reduced_;
  for (int level = 0; level < int{format::kLevelEverything}; ++level) {
    if (at < shares_[level]) return static_cast<format::StepLevel>(level);
    at -= shares_[level];
  }
  return format::kLevelEverything;
}

StepPlan::Place StepPlan::PlaceOf(uint64_t block) const {
  const uint64_t early_blocks =
      group_blocks_ < kEarlyGroupBlocks ? group_blocks_ : kEarlyGroupBlocks;
  const uint64_t early = kEarlyGroups * early_blocks;
  if (block < early) return {block / early_blocks, block % early_blocks, early_blocks};
  const uint64_t later = block - early;
  return {kEarlyGroups + later / group_blocks_, later % group_blocks_, group_blocks_};
}

format::StepLevel StepPlan::LevelOf(uint64_t step) const {
  if (reduced_ == 0) return format::kLevelEverything;
  const uint64_t block = step / kBlockSteps;
  if (group_blocks_ == 0) {
    const uint64_t hash = Mix(seed_, block);
    return hash % kMillion < reduced_ ? Draw(hash / kMillion) : format::kLevelEverything;
  }
  const Place place = PlaceOf(block);
  const uint64_t hash = Mix(seed_, place.group);
  const uint64_t pair = (hash >> 1) % (place.group_blocks / 2);
  const uint64_t chosen = 2 * pair + (hash & 1);
  if (place.in_group != chosen) return format::kLevelEverything;
  return Draw(Mix(seed_, ~place.group));
}

}  // namespace crosscut::record
