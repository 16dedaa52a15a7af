// What a recorded process states of itself, as the trace's Process.
#pragma once

#include "src/format/run_reader.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

struct TickRange {
  uint64_t first, last;
};

// pid, name (none where it states none), start method, probes, sources, meta; complete, why not.
void FillProcess(trace::Builder* builder, const format::ProcessInfo& info,
                 const NativeSession& session, trace::Process* process);

// Whether `process`, incomplete by FillProcess(), just ended without a word, perhaps while a plugin
// was being called: what exec does, too.
bool EndedWithoutStopping(const trace::Trace& trace, const trace::Process& process);

// The window: from the first session's start to the last one's stop, or to the last published word
// where a session was not stopped; what lies between sessions and what the user paused is paused.
void FillWindow(const format::ProcessInfo& info, const NativeSession& session,
                const NativeClock& clock, TickRange events, trace::Process* process);

}  // namespace crosscut::import
