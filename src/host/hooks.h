// What the host asks of whoever owns the session (src/runtime). Every function is called on a
// plugin's own thread, or on one of the program's that a plugin's push came from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/host/their_profilers.h"

namespace crosscut::host {

struct Hooks {
  // A line of the table `sources`; null leaves what was told before.
  void (*tell)(const char* name, const char* version, const char* state, const char* message);
  // Whether a plugin records now, and so holds what it has not handed over: a process that ends
  // meanwhile, killed or by _exit(), takes it along.
  void (*holds)(const char* name, bool holds);
  // Figures as in crosscut_probe_cost().
  void (*probe_cost)(uint32_t probe, const int64_t figures[5]);
  // Keeps a serialised XSpace of plugin `source`, whose session began at begin_realtime_ns. 0, or
  // words about what went wrong.
  const char* (*collected)(const char* source, const void* bytes, size_t size,
                           int64_t begin_realtime_ns);
  // A plugin has nothing more to hand over.
  void (*idle)();
  // A plugin's library has come, or has begun to work: what must run at exit before its destructors
  // is to be registered now.
  void (*loaded)();
};

// Which plugins a session wants, as TensorFlow's own options say it.
struct Gate {
  int device_tracer_level = 1;  // 0: none
  char device_type[64] =
      {};  // "": all; else a plugin's own type, or one of TensorFlow's DeviceType
  bool Wants(const char* plugin_type) const;
};

// How long each call may take, in nanoseconds; what one plugin may hand over, in bytes.
struct Limits {
  int64_t load = 1'000'000'000, start = 250'000'000, stop = 2'000'000'000;
  int64_t collect = 5'000'000'000, collect_per_byte = 15;  // 1 s for 64 MiB
  int64_t flush = 1'000'000'000, destroy = 1'000'000'000;
  size_t collect_bytes = size_t{256} << 20;
};

// What all plugins of a process share; outlives them.
struct Surroundings {
  Hooks hooks;
  Gate gate;
  Limits limits;
  const TheirProfilers* theirs = nullptr;
  void (*call_changed)();  // a plugin's CallInFlight() tells another thing now
};

}  // namespace crosscut::host
