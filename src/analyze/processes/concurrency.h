// Several processes at once: which of them were working on the host, which kept a device busy.
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

// An instant's key across processes on one clock, and the measure of its instants. A process is in
// `host` while any layer of it is active (not idle, not unknown), in `device` while one of its
// devices is busy. Both ascending.
struct ConcurrencyCell {
  std::vector<uint32_t> host, device;
  int64_t ns = 0;
};
struct ConcurrencyCells {
  std::vector<ConcurrencyCell> cells;  // the longest first, 200 at most
  // Of all other sets, by the sizes of host and device.
  using BySize = std::map<std::pair<size_t, size_t>, int64_t>;
  BySize rest;
};
// From the first process's start to the last one's end; the sum of all is that time. A paused
// process is in neither set. Nothing for more than kMostConcurrent processes.
inline constexpr size_t kMostConcurrent = 1 << 14;
ConcurrencyCells ComputeConcurrency(const trace::Trace& trace, const NameCodes& names);

// host_processes, device_processes (labels joined by "+", of many the first), host_count,
// device_count, ns. Beyond 200 cells the rest is summed by counts alone, its labels "(others)". No
// rows for a single process.
Table ConcurrencyTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
