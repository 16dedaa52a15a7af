// Fills the trace with what a run and its recorded processes state of themselves.
#pragma once

#include <cstdint>
#include <string>

#include "src/format/run_reader.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

// Of run.json: fills Trace::command (one line that a shell would read as the same words),
// started_realtime_ns and machine. False where `json` is no JSON object.
bool FillRun(const std::string& json, trace::Trace* trace);

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

// Names a process "rank N" if it states that it is one of several ranks and nobody has set a name
// for it, which Python's multiprocessing does for all. Its children, which inherit what it states,
// and its launcher keep their names. An actor of Ray that the program gave no name is "CLASS (rank
// N)". Requires: parents are linked.
void NameRanks(trace::Trace* trace);

// Workers of Ray that ended without stopping, but in no operation, count as complete. Returns the
// gap that tells how many those are, "" where there are none. Requires: tracks are finished.
std::string ExplainWorkers(trace::Trace* trace);

}  // namespace crosscut::import
