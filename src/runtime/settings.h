// From options and environment to the settings of a session.
#pragma once

#include "src/runtime/session.h"

namespace crosscut::record {

// `options` may be null or shorter than this library's crosscut_options. Makes the run directory
// (0700) and its run.json where they are missing; the seed comes from options, environment,
// run.json or chance, in this order. `plan` is for those who ask for none. Returns CROSSCUT_OK or
// what Fail() said.
int FillSettings(const crosscut_options* options, const char* plan, Settings* settings);
// Of a run: every table at a few per cent. Of windows on demand, which are short: all there is.
inline constexpr const char* kPlanOfRuns = "balanced";
inline constexpr const char* kPlanOfWindows = "full";
// Of a run whose plan nobody named: how much longer its steps may take, in per cent.
inline constexpr double kBudgetOfRuns = 2;

// The directory of ring files: run.json's "ring_dir", else /dev/shm. "" where there is none.
void RingDirectory(const Settings& settings, char (&dir)[kPathBytes]);

}  // namespace crosscut::record
