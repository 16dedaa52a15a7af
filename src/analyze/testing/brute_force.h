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
  std::string operation, part;
};
// What thread `t` does at that time.
ThreadInstant ThreadAt(const trace::Trace& trace, const trace::Track& t, int64_t at);

using InstantKey = std::pair<std::string, LayerSet>;  // operation, layers
// The key of the trace's first process, as if it had neither steps nor pauses.
InstantKey KeyAt(const trace::Trace& trace, int64_t at);

// A step, or the time behind it up to the next: the probes stay as it had them.
struct StepInForce {
  const trace::Step* step;
  int64_t since_ns;
  bool control() const { return step->level == 0; }
  bool left_out() const { return step->level == 4; }
};
// None before the first step. Requires: steps in order.
std::optional<StepInForce> StepAt(const trace::Process& process, int64_t at);

// The key of the trace's first process with steps and pauses: none while it is paused; layer
// control while the probes are off for a control step or one that was left out, unless in the
// latter our own work runs alone.
std::optional<InstantKey> InstantAt(const trace::Trace& trace, int64_t at);

// What adapters found inside the operation of InstantAt(), the innermost; "": nothing.
std::string PartAt(const trace::Trace& trace, int64_t at);

// Every time at which a key of the first process may change.
std::set<int64_t> Edges(const trace::Trace& trace);

}  // namespace crosscut::analyze::testing
