// Several processes at once: which of them worked on the host, and which kept a device busy.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/name_codes.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// An instant's key across processes on one clock, and for how long it held. A process is in `host`
// while a thread of it is in an active layer (not idle, not unknown), in `device` while one of its
// devices is busy. Both are ascending.
struct ConcurrencyCell {
  std::vector<uint32_t> host, device;
  int64_t ns = 0;
};
struct ConcurrencyCells {
  std::vector<ConcurrencyCell> cells;  // the longest first, 200 at most
  // The time of all other sets, by the sizes of host and device.
  using BySize = std::map<std::pair<size_t, size_t>, int64_t>;
  BySize rest;
};
inline constexpr size_t kMostConcurrent = 1 << 14;
// Covers the time from the first process's start to the last one's end, to which all cells sum. A
// paused process is in neither set. Empty for more than kMostConcurrent processes.
ConcurrencyCells ComputeConcurrency(const trace::Trace& trace, const NameCodes& names);

// host_processes, device_processes (labels joined by "+"; of many, the first 64), host_count,
// device_count, ns. Beyond 200 cells the rest is summed by counts alone, with the label "(others)".
// A single process has no rows.
Table ConcurrencyTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
