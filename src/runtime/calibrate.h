// What the core's own probes cost on this machine.
#pragma once

namespace crosscut::record {

// Measures it once per process, into a chunk that nobody reads, and tells it by
// crosscut_probe_cost(). On the drain's thread, about a millisecond.
void CalibrateProbes();

}  // namespace crosscut::record
