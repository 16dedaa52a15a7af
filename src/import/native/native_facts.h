// Fills the trace's Process with what a recorded process states of itself.
#pragma once

#include <cstdint>

#include "src/format/run_reader.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

struct TickRange {
  uint64_t first, last;
};

// Fills pid, name (none if it states none), start method, probes, sources and meta, and whether it
// is complete and why not.
void FillProcess(trace::Builder* builder, const format::ProcessInfo& info,
                 const NativeSession& session, trace::Process* process);

// Whether `process`, incomplete by FillProcess(), ended without stopping, perhaps inside a call of
// a plugin. exec ends processes that way, too.
bool EndedWithoutStopping(const trace::Trace& trace, const trace::Process& process);

// Fills the window: from the first session's start to the last one's stop, or to the last published
// word if a session was not stopped. The time between sessions and what the user paused is paused.
// `events` has the ticks of the first and last event.
void FillWindow(const format::ProcessInfo& info, const NativeSession& session,
                const NativeClock& clock, TickRange events, trace::Process* process);

}  // namespace crosscut::import
