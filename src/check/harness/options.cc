#include "src/check/harness/options.h"

namespace crosscut::check {

Options& options() {
  static Options* the_options = new Options;  // threads may run while the process ends
  return *the_options;
}

// SplitMix64.
uint64_t Random(uint64_t salt) {
  uint64_t x = options().seed * 0x9E3779B97F4A7C15u + salt * 0xD1B54A32D192ED03u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace crosscut::check
