// What run.json says of the run as a whole.
#pragma once

#include <string>

#include "src/trace/trace.h"

namespace crosscut::import {

// Fills Trace::command and started_realtime_ns. False where `json` is no JSON object.
bool FillRun(const std::string& json, trace::Trace* trace);

// The command as one line that a shell would read as the same words.
std::string ShellWord(std::string_view word);

}  // namespace crosscut::import
