// From options and environment to the settings of a session.
#pragma once

#include "src/runtime/session.h"

namespace crosscut::record {

// `options` may be null or shorter than this library's crosscut_options. Makes the run directory
// (0700) and its run.json where they are missing; the seed comes from options, environment,
// run.json or chance, in this order. Returns CROSSCUT_OK or what Fail() said.
int FillSettings(const crosscut_options* options, Settings* settings);

// The directory of ring files: run.json's "ring_dir", else /dev/shm. "" where there is none.
void RingDirectory(const Settings& settings, char (&dir)[kPathBytes]);

}  // namespace crosscut::record
