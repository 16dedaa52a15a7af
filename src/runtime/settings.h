// From options and environment to the settings of a session.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "crosscut/crosscut.h"
#include "src/format/step_shares.h"
#include "src/runtime/run_folder.h"

namespace crosscut::record {

inline constexpr size_t kPathBytes = 4096;

// crosscut_options with every default filled in.
struct Settings {
  char run_dir[kPathBytes];
  RunIdentity run;
  size_t memory_bytes;
  bool flight_recorder;
  double keep_seconds;
  format::StepShares shares;  // of the step plan
  double budget;              // share of the program's time that steps may cost more; 0: no limit
  uint64_t seed;
};

// `options` may be null or shorter than this library's crosscut_options. Makes the run directory
// (0700) and its run.json where they are missing; the seed comes from options, environment,
// run.json or chance, in this order. `plan` is for those who ask for none. Returns CROSSCUT_OK or
// what Fail() said.
int FillSettings(const crosscut_options* options, const char* plan, Settings* settings);
// Of a run: every table at a few per cent. Of windows on demand, which are short: all there is.
inline constexpr char kPlanOfRuns[] = "balanced";
inline constexpr char kPlanOfWindows[] = "full";
// Of a run whose plan nobody named: how much longer its steps may take, in per cent.
inline constexpr double kBudgetOfRuns = 2;

// The directory of ring files: run.json's "ring_dir", else /dev/shm. "" where there is none.
void RingDirectory(const Settings& settings, char (&dir)[kPathBytes]);

}  // namespace crosscut::record
