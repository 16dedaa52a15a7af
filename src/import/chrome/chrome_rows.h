// The rows of a Chrome trace, one for each thread and each stream of a device, and how they become
// tracks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/import/chrome/chrome_categories.h"
#include "src/trace/args.h"
#include "src/trace/blocks.h"
#include "src/trace/builder.h"

namespace crosscut::import {

// Kineto's steps: annotations of this name and a number.
inline constexpr std::string_view kChromeStep = "ProfilerStep#";

// The top bits of the ids of arrows. kLaunchFlows: between launches and what they launched, by
// correlation. kInnerFlows and kOuterFlows: arrows that the file declares, inside a process and
// from one process to another.
inline constexpr uint64_t kFlowBits = uint64_t{3} << 62;
inline constexpr uint64_t kLaunchFlows = uint64_t{1} << 62;
inline constexpr uint64_t kInnerFlows = 0;
inline constexpr uint64_t kOuterFlows = uint64_t{1} << 63;

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
  uint32_t pid = 0;  // an index that the owner of the rows chooses
  Place place = Place::kThread;
  // Of XProf's: it is a thread of a host; it repeats other rows; one or the other, or a stream.
  bool of_host = false, left_out = false, of_plane = false;
  std::string tid, event_tid;  // as the file writes them; `tid` of a device: its stream
  int64_t os_id = 0;           // the number in tid
  int64_t device = -1;         // of a device: its number
  trace::StringId name;
  trace::StringId file_pid, file_tid;  // as trace::Track has them
  uint32_t file_row = 0;
  // The row's series in trace::Kept: category, whether of instants, and number.
  struct Series {
    trace::StringId category;
    bool instants;
    uint32_t number;
  };
  std::vector<Series> series;
  // Spans, instants and flows are each in any order.
  trace::Blocks<ChromeSpan, 11> spans;
  std::vector<ChromeSpan> instants;  // their end_ns is their begin_ns
  std::vector<ChromeFlow> flows;
  trace::Args args;     // of spans and instants that have some
  uint32_t owners = 0;  // of args
};

// The process of a row.
struct ChromeOwner {
  trace::ProcessId process;
  int64_t pid;  // of the process
  // The process of a span of a row that several processes share; null: the row is of `process`.
  std::function<trace::ProcessId(const ChromeSpan&)> of_span;
};

// What MakeTracksOf did to spans that do not nest.
struct ChromeRepairs {
  trace::TrackId track;  // the row's first track
  uint64_t beside = 0;   // spans of threads on further tracks
  uint64_t outlive = 0;  // spans of threads that outlive the span around them
  uint64_t cut_off = 0;  // spans that overlap more others than there is room for
  uint64_t rounded = 0;  // spans of threads moved to the end of the span around them
};

// Makes a track for the row, and more where spans of a device overlap without nesting, or spans of
// a thread overlap too many others. On a thread, a span that outlives the one around it by no more
// than the rounding of times (2 us) ends with it. If it outlives it by more, it goes on: the
// instants since it began are its own, and it is cut in two where the span around it ends;
// annotations are treated alike. Of each span that is cut, Spans::stated_ends has the end that the
// file states. Empties the row.
ChromeRepairs MakeTracksOf(trace::Builder* builder, const ChromeOwner& owner, ChromeRow* row);

}  // namespace crosscut::import
