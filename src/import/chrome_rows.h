// The rows of a Chrome trace, one per thread and per stream of a device, and how they become
// tracks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/import/chrome_categories.h"
#include "src/trace/args.h"
#include "src/trace/blocks.h"
#include "src/trace/builder.h"

namespace crosscut::import {

// Kineto's steps: spans of this name and a number.
inline constexpr std::string_view kChromeStep = "ProfilerStep#";

// Bits of the ids of arrows: between launches and what they launched, by their correlation; and of
// those that the file declares. Both may lead from one process to another.
inline constexpr uint64_t kCorrelationFlows = uint64_t{3} << 62;
inline constexpr uint64_t kDeclaredFlows = uint64_t{1} << 63;

struct ChromeSpan {
  int64_t begin_ns, end_ns;
  trace::NameId name;
  uint32_t owner;  // of its row's args
};
struct ChromeFlow {
  int64_t at_ns;
  uint64_t id;
  bool out;
};

struct ChromeRow {
  uint32_t pid = 0;  // whose: an index of the owner of the rows
  Place place = Place::kThread;
  int64_t os_id = 0;
  trace::StringId name;
  // Each in any order.
  trace::Blocks<ChromeSpan, 11> spans;
  std::vector<ChromeSpan> steps, instants;  // no end_ns of an instant is looked at
  std::vector<ChromeFlow> flows;
  std::vector<ChromeSpan> open;  // begun and not ended yet, innermost last
  trace::Args args;              // of spans and instants that have some
  uint32_t owners = 0;           // of args
};

// A track for the row, and more where its spans overlap without nesting. On threads, a span that
// outlives the one around it by no more than times are rounded by is cut, and has its own duration
// as the argument unclamped_ns. `pid`: of the thread's process, or the device's number.
// Empties the row.
void MakeTracksOf(trace::Builder* builder, trace::ProcessId process, int64_t pid, ChromeRow* row);

}  // namespace crosscut::import
