// What a file of some format does not tell of a recording: what the recording itself says is
// missing, and what the format has no room for, with counts. One list for all exporters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/export/identities.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

// Of what a recording consists, as far as a format may have no room for it.
enum Part : uint32_t {
  kSpans = 1 << 0,      // of threads
  kWork = 1 << 1,       // spans of devices
  kTimes = 1 << 2,      // when spans began and ended; else there are sums of them
  kArguments = 1 << 3,  // of the spans that there is room for
  kSteps = 1 << 4,
  kMemory = 1 << 5,   // marks that say what was allocated
  kSamples = 1 << 6,  // marks that say what was sampled
  kMarks = 1 << 7,    // all others
  kCounters = 1 << 8,
  kLaunches = 1 << 9,  // arrows to devices
  kArrows = 1 << 10,   // all others
  kPhases = 1 << 11,
  kPauses = 1 << 12,
  kLayers = 1 << 13,  // outside all spans
  kLosses = 1 << 14,  // when events were lost
  kProbes = 1 << 15,  // what they cost
  kGaps = 1 << 16,    // sentences
  kLoose = 1 << 17,   // arrows with an end in no span, for which no format has room
  kFields = 1 << 18,  // of the spans that there is room for, beside their arguments
};
// What has a place and a time.
constexpr uint32_t kEvents = kSpans | kWork | kTimes | kArguments | kSteps | kMemory | kSamples |
                             kMarks | kCounters | kLaunches | kArrows | kLosses | kGaps;

struct Gaps {
  std::vector<std::string> of_recording, of_file;
  std::vector<std::string> all() const;  // those of the recording first
  // Appends them as a JSON array.
  void AppendJson(std::string* out) const;
};

// `holds`: parts that the format has room for. `ids`: those that the file has in place of others.
// `passed`: tracks of which the file has all.
class PassedProfiles;
Gaps GapsOf(const trace::Trace& trace, uint32_t holds, const Identities* ids = nullptr,
            const PassedProfiles* passed = nullptr);

}  // namespace crosscut::exporting
