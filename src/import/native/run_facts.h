// What run.json says about the run as a whole.
#pragma once

#include <string>

#include "src/trace/trace.h"

namespace crosscut::import {

// Fills Trace::command (one line that a shell would read as the same words), started_realtime_ns
// and machine. False where `json` is no JSON object.
bool FillRun(const std::string& json, trace::Trace* trace);

}  // namespace crosscut::import
