// Settings of plugins that the program makes while it runs: they come before those of the command
// line and the environment. Any thread; no locks.
#pragma once

namespace crosscut::host {

// The latest setting of `key`, alive as long as the process; null: there is none.
const char* ProgramOption(const char* key);
// Copies both, each text once for all; null as `value` takes the setting back. False without
// memory.
bool SetProgramOption(const char* key, const char* value);

}  // namespace crosscut::host
