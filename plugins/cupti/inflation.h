// What CUPTI itself adds to the program's calls of CUDA while it records what devices do. It cannot
// be told inside a recording, where it is always there: `python -m crosscut.cupti_cost` measures it
// in runs with and without, and leaves it in a file. docs/cupti.md, "What it costs".
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::cupti {

enum CallKind : uint8_t { kLaunchCall, kCopyCall, kSetCall, kOtherCall };
inline constexpr size_t kCallKinds = 4;
// What the file calls them, and their probes.
inline constexpr const char* kCallWords[kCallKinds] = {"launch", "copy", "set", "other"};
inline constexpr const char* kCallProbes[kCallKinds] = {"CUDA launch", "CUDA copy",
                                                        "CUDA memory set", "CUDA call"};

struct Inflation {
  struct OfKind {
    int64_t ps = 0, low_ps = 0, high_ps = 0, samples = 0;  // 0: not known
  };
  OfKind kinds[kCallKinds];
};

// Reads `path` (null: that of the user's cache, which may be absent). It counts for the CUPTI
// and the driver that it was measured with alone. False, with words in `why` ("" where there is
// no file in the cache), where nothing is known.
bool ReadInflation(const char* path, uint32_t cupti_version, Inflation* inflation, char* why,
                   size_t bytes);

}  // namespace crosscut::cupti
