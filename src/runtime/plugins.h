// The session's side of the plugin host: which plugins are loaded, and how a session waits for what
// they still hold.
#pragma once

#include "src/host/hooks.h"

namespace crosscut::record {

// Loads what CROSSCUT_PLUGINS names and is not here yet, and starts all. Never waits for a plugin.
// By one caller at a time, the session's transition.
void StartPlugins(const host::Hooks& hooks);
// True where plugins have something to hand over yet. By the session's transition.
bool StopPlugins();
// Stops them and waits, at most until their deadlines, for what they hand over. Any thread.
void FinishPlugins();
// The same where the process ends by exit(), or forbids itself what a plugin's end may need: they
// are destroyed, too.
void EndPlugins();

}  // namespace crosscut::record
