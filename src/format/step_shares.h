// Step plans in words: which share of the steps is recorded at which level. What `--plan`,
// CROSSCUT_PLAN and crosscut_options.plan say.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/format/format.h"

namespace crosscut::format {

inline constexpr int kStepLevels = 4;

// "control", "boundary", "operators", "everything".
const char* StepLevelName(StepLevel level);

// Shares of the steps by level; they sum to kWholeShare.
struct StepShares {
  uint32_t of[kStepLevels];
};
inline constexpr uint32_t kWholeShare = 1'000'000;

// "light", "balanced", "full", or shares in per cent ("operators=10,everything=2.5"): what they
// leave of 100 goes to boundary. `control_percent` is the share of control steps where the text
// names none; where it is negative, the plan's own. False, with the reason in `why`, where the text
// is none of these; `shares` is untouched then. No allocation.
bool ParseStepShares(const char* text, double control_percent, StepShares* shares, char* why,
                     size_t why_size);

// "control=5,boundary=88,operators=5,everything=2", as ParseStepShares() reads it.
void WriteStepShares(const StepShares& shares, char* text, size_t size);

// A budget in per cent of the program's time, as "2" or "0.5"; "off" is -1: no limit. False where
// `text` is neither, or not above 0.
bool ParseBudget(const char* text, double* percent);

}  // namespace crosscut::format
