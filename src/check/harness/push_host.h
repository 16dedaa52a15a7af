// The crosscut_host extension as the checker offers it: keeps nothing but what the rules need, and
// notes what breaks them. Process-wide; every function may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crosscut/plugin.h"

namespace crosscut::check {

// For params->ext.
crosscut_extension* PushHost();

struct PushFault {
  const char* rule;  // "C8.push_id"
  std::string text;
};

struct PushTally {
  uint64_t spans = 0;  // and instants, counters, host spans: what would be in the trace
  uint64_t lost = 0;   // told by lost()
  uint64_t late = 0;   // pushed outside a session
};

// A session begins: tallies and faults start at 0. It has ended once stop() returned; what is
// pushed from then on is late. Settle() adds the faults that only the whole shows (nesting,
// balance).
void BeginPushSession();
void EndPushSession();
PushTally Pushed();
std::vector<PushFault> PushFaults();

// What the plugin asked to be called, copied; all null where it asked nothing.
crosscut_plugin_callbacks PushCallbacks();

// The value of CROSSCUT_PLUGIN_<KEY>.
const char* OptionOf(const char* key);

}  // namespace crosscut::check
