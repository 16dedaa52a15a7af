// For tests of what only a kernel shows: under an emulator of another processor they are left out.
#pragma once

#include <cstdlib>

namespace crosscut::base {

// tools/check_arm64.sh names the emulator.
inline bool UnderEmulator() { return std::getenv("CROSSCUT_TEST_EMULATOR") != nullptr; }

}  // namespace crosscut::base
