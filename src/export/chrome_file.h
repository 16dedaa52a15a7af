// Writes a trace that was read from a file in Chrome's JSON format in that format again.
#pragma once

#include "src/base/status.h"
#include "src/export/left_out.h"
#include "src/export/sink.h"
#include "src/trace/trace.h"

namespace crosscut::exporting {

// Whether the trace comes from one such file and keeps what that had.
bool IsOfChromeFile(const trace::Trace& trace);

// Writes every event and what stands beside the events, with the file's own numbers, each key once.
// A begin and its end become one complete event; the order is that of the tracks. Requires:
// IsOfChromeFile.
Result<Gaps> WriteChromeFileAgain(const trace::Trace& trace, Sink* sink);

}  // namespace crosscut::exporting
