// Tries plugins in processes of their own, so that one that crashes, hangs or ends its process does
// so there and not in the program that is recorded.
#pragma once

#include <string>
#include <vector>

namespace crosscut::verbs {

struct Probe {
  std::string checker;  // the program crosscut-check-plugin
  std::string cache;    // file that remembers the answers; "": none are remembered
};

struct ProbedPlugins {
  std::vector<std::string> good;       // as they were given, in their order
  std::vector<std::string> sentences;  // for the user: which was left out, and what it did
};

// Loads each of `plugins` (paths with settings behind commas), starts, stops and collects it three
// times with and without the push table. An answer holds for as long as the file has the same size,
// time and build id, and the settings are the same. What is no file is good: it is for others to
// refuse. Where the checker cannot be run all are good, and a sentence says so.
ProbedPlugins ProbePlugins(const std::vector<std::string>& plugins, const Probe& probe);

// $XDG_CACHE_HOME/crosscut/probed-plugins, else below ~/.cache; "" without a home.
std::string ProbeCacheFile();

// The build id of an ELF file in hexadecimal, "-" where it has none.
std::string BuildId(const std::string& path);

}  // namespace crosscut::verbs
