// The definition of docs/accounting.md, instant by instant, for property tests: slow, and sharing
// no more with the engine than its terms.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "src/analyze/layer_set.h"
#include "src/trace/trace.h"

namespace crosscut::analyze::testing {

struct ThreadInstant {
  bool alive = false, waits = false, in_span = false;
  trace::Layer layer = trace::Layer::kNone;
  std::string operation;
};
// What thread `t` does at that time.
ThreadInstant ThreadAt(const trace::Trace& trace, const trace::Track& t, int64_t at);

using InstantKey = std::pair<std::string, LayerSet>;  // operation, layers
// The key of the trace's first process, as if it had neither steps nor pauses.
InstantKey KeyAt(const trace::Trace& trace, int64_t at);

// Since when the probes have been off for a control step, if they are off at `at`. Requires: steps
// in order.
std::optional<int64_t> ControlSince(const trace::Process& process, int64_t at);

// The key of the trace's first process with steps and pauses: none while it is paused; layer
// control while the probes are off for a control step.
std::optional<InstantKey> InstantAt(const trace::Trace& trace, int64_t at);

// Every time at which a key of the first process may change.
std::set<int64_t> Edges(const trace::Trace& trace);

}  // namespace crosscut::analyze::testing
