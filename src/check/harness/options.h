// What the user asked of a check. One per process, set by main() before any test runs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/check/harness/tensorflow.h"

namespace crosscut::check {

struct Options {
  std::string plugin;     // absolute path
  std::string work;       // library with crosscut_work(), or ""
  std::string python;     // whose TensorFlow is loaded; "": python3's, where the plugin needs it
  TensorFlow tensorflow;  // that children load before the plugin; none: a stand-in
  int level = 5;          // tests above it are not run
  uint64_t seed = 0;      // of every random choice
  bool json = false;
  bool probe = false;            // only the first sessions, in the whole environment
  bool registers = false;        // of these only the registration
  int jobs = 2;                  // children at once; tests that measure run alone
  int cycles = 10'000;           // of C5 and C9
  uint64_t events = 10'000'000;  // of C10
  double deadline = 5;           // seconds a call may take before it counts as hung
  double budget = 20;            // seconds that a test repeats sessions for, where they are slow
  double fuzz_seconds = 600, soak_seconds = 7200;                // C18, C19
  std::vector<std::pair<std::string, std::string>> environment;  // more of it, for every test
  std::vector<std::pair<std::string, std::string>> no_device;    // hides the device, for C3
  std::set<std::string> only, skip;                              // ids of tests
};

Options& options();

// All of options() for another process of this program, which takes them over: false where the
// bytes are not whole.
std::string PackOptions();
bool UnpackOptions(std::string_view bytes);

// A number that depends on the seed and `salt` alone.
uint64_t Random(uint64_t salt);

}  // namespace crosscut::check
