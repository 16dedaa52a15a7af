// Step plans in words: which share of the steps is recorded at which level, as in `--plan`,
// CROSSCUT_PLAN and crosscut_options.plan.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/format/format.h"

namespace crosscut::format {

inline constexpr int kStepLevels = 4;  // that a plan names: the level marks is the budget's

// "control", "boundary", "operators", "everything", "marks".
const char* StepLevelName(StepLevel level);

// Shares of the steps by level; they sum to kWholeShare.
struct StepShares {
  uint32_t of[kStepLevels];
};
inline constexpr uint32_t kWholeShare = 1'000'000;

// Reads "light", "balanced", "full", or shares in per cent ("operators=10,everything=2.5"); what
// they leave of 100 goes to boundary. `control_percent` is the share of control steps if the text
// names none; if it is negative, the plan's own share is taken. False, with the reason in `why`,
// where the text is none of these or the shares exceed 100; `shares` is untouched then.
bool ParseStepShares(const char* text, double control_percent, StepShares* shares, char* why,
                     size_t why_size);

// Writes "control=5,boundary=88,operators=5,everything=2", which ParseStepShares() reads.
void WriteStepShares(const StepShares& shares, char* text, size_t size);

// Reads a budget in per cent of the program's time, such as "2" or "0.5"; "off" is -1: no limit.
// False where `text` is neither, or not above 0, or above 1000.
bool ParseBudget(const char* text, double* percent);

}  // namespace crosscut::format
