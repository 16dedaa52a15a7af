// What the sweeps need to know of each name, packed so that a span edge costs one load.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

struct NameCode {
  uint32_t scope = 0;  // dense number of an operation's or a part's text, from 1; 0: neither
  uint8_t code = 0;    // kCode bits
  uint8_t probe = 0;   // dense number of the probe kind, from 1; 0: none
  bool part = false;   // of what the program declares: its own time is that operation's

  // The number of an operation that owns its time, or of a part; 0 where it is none.
  uint32_t operation() const { return part ? 0 : scope; }
  uint32_t found() const { return part ? scope : 0; }
};
inline constexpr uint8_t kCodeLayer = 15;  // a host layer's number, or 0: keeps the one below
inline constexpr uint8_t kCodeWaits = 16;
inline constexpr uint8_t kCodeWork = 32;  // a span that is not an operation, step or phase
inline constexpr int kCodes = 64;
inline constexpr int kMaxProbes = 63;  // later kinds share the last number

struct NameCodes {
  explicit NameCodes(const trace::Trace& trace);

  std::vector<NameCode> codes;              // by NameId
  std::vector<trace::StringId> operations;  // by number; [0] is no operation
  std::vector<trace::StringId> probes;      // by number; [0] is no probe
};

}  // namespace crosscut::analyze
