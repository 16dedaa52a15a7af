// Tries plugins in processes of their own, so that one that crashes, hangs or ends its process does
// so there and not in the recorded program.
#pragma once

#include <string>
#include <vector>

namespace crosscut::verbs {

struct Probe {
  std::string checker;   // the program crosscut-check-plugin
  std::string cache;     // the file that remembers the answers; "": none
  bool sessions = true;  // false: only whether a process outlives the registration
};

struct ProbedPlugins {
  std::vector<std::string> good;       // as they were given, in their order
  std::vector<std::string> sentences;  // for the user: which were left out, and why
};

// Loads each of `plugins` (a path, with settings behind commas) and registers it; with `sessions`
// also starts, stops and collects it three times with and without the push table. An answer is
// valid while the file has the same size, time and build id, and the settings are the same. What is
// no file counts as good, because others refuse it. If the checker cannot run, the plugin counts as
// good, and with `sessions` a sentence says so.
ProbedPlugins ProbePlugins(const std::vector<std::string>& plugins, const Probe& probe);

// $XDG_CACHE_HOME/crosscut/probed-plugins, or else the same below ~/.cache; "" without a home.
std::string ProbeCacheFile();

// The build id of an ELF file in hexadecimal, "-" where it has none.
std::string BuildId(const std::string& path);

}  // namespace crosscut::verbs
