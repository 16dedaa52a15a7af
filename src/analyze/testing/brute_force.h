// The definition of docs/accounting.md, instant by instant: slow, and nothing shared with the
// engine but the words. For property tests.
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
ThreadInstant ThreadAt(const trace::Trace& trace, const trace::Track& t, int64_t at);

// Of the trace's first process, as if it had neither steps nor pauses.
using InstantKey = std::pair<std::string, LayerSet>;  // operation, layers
InstantKey KeyAt(const trace::Trace& trace, int64_t at);

// Since when the probes have been off for a control step, where they are off at `at`. Requires:
// steps in order.
std::optional<int64_t> ControlSince(const trace::Process& process, int64_t at);

// With both: none while it is paused; control steps as such.
std::optional<InstantKey> InstantAt(const trace::Trace& trace, int64_t at);

// Every time at which a key of the first process may change.
std::set<int64_t> Edges(const trace::Trace& trace);

}  // namespace crosscut::analyze::testing
