// The plugin's settings: `--plugin FILE,key=value` or CROSSCUT_PLUGIN_<KEY>. docs/cupti.md.
#pragma once

#include <crosscut/plugin.h>

#include <cstddef>
#include <cstdint>

namespace crosscut::cupti {

struct Options {
  const char* library = nullptr;  // a path of libcupti; null: looked for
  uint32_t buffers = 32;          // at most so many
  uint32_t buffer_bytes = 1 << 20;
  uint32_t flows = 1 << 18;  // launches that can wait for their work's records
  bool calls = true;         // calls of the CUDA runtime API
  bool driver = true;        // and of the driver API
  bool graph_nodes = true;   // false: one span per graph launch
  bool synchronisation = true;
  bool own_timestamps = true;  // CUPTI takes its times from our clock where it can
  bool activities = true;      // what devices do; false: only calls, to measure what that costs
  const char* inflation = nullptr;  // a path: what CUPTI itself costs; null: the user's cache
};

// What a session reads of the device's performance counters. Asked for anew in each.
struct MetricOptions {
  const char* names = nullptr;  // joined by '+'; null: none, and nothing of it is switched on
  bool per_kernel = true;       // false: of all that runs between the session's begin and end
  bool replay = false;          // kernels may run more than once
};

// What is not understood keeps its default and is named in `complaint` ("" where all is well).
Options ReadOptions(const crosscut_host* host, char* complaint, size_t bytes);
// The same. Leaves `complaint` alone where all is well.
MetricOptions ReadMetricOptions(const crosscut_host* host, char* complaint, size_t bytes);

}  // namespace crosscut::cupti
