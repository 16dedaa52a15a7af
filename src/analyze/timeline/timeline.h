// The timeline of the HTML report: every track as tiles at a few levels of zoom, bounded in size
// however long the run, and a few short windows with their exact spans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

inline constexpr uint32_t kNoText = UINT32_MAX;
inline constexpr uint32_t kArgsLeftOut = UINT32_MAX - 1;

// `count` neighbouring tiles that look the same. Tiles with nothing in them are left out.
struct TimelineTile {
  uint32_t index = 0;  // first tile: begins at begin_ns + index * tile_ns of its level
  uint32_t count = 1;
  uint32_t name = kNoText;       // into Timeline::texts: the innermost span with the largest share
  uint32_t operation = kNoText;  // the innermost operation with the largest share
  uint64_t spans = 0;            // spans that begin in it
  // Share of the tile by the thread's innermost layer, in 1/255 of the tile, by trace::Layer. The
  // sum is less than 255 where nothing is known or the thread did not live. [0] stays 0.
  std::array<uint8_t, trace::kLayerCount> share{};
};

struct TimelineLevel {
  int64_t tile_ns = 0;              // length of one tile
  std::vector<TimelineTile> tiles;  // by index
};

struct TimelineTrack {
  uint32_t track = 0;  // index into Trace::tracks
  std::string name;    // as in the table threads
  bool device = false, lead = false, ours = false;
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<TimelineLevel> levels;  // coarse to fine; a tile is 1/4 as long at each
};

struct TimelineProcess {
  uint32_t process = 0;  // index into Trace::processes
  std::string name;      // as in every table
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<TimelineTrack> tracks;  // the lead first, then threads, then devices
  std::vector<trace::Interval> paused;
};

// A span of a detail, exact.
struct TimelineSpan {
  int64_t begin_ns = 0, end_ns = 0;  // clipped to the window
  uint32_t name = kNoText;
  uint16_t depth = 0;                        // the most there is where it is deeper
  trace::Layer layer = trace::Layer::kNone;  // the layer in force inside it
  trace::Kind kind = trace::Kind::kSpan;
  uint32_t args =
      kNoText;            // into Timeline::args; kArgsLeftOut: the span has some, which had no room
  int32_t called_at = 0;  // as in trace::Name
};

struct TimelineDetailTrack {
  uint32_t track = 0;
  std::vector<TimelineSpan> spans;  // by begin, parents first
  uint64_t omitted = 0;             // so many of the shortest are left out
};

// A window of one process with exact spans: a step, the middle of a run without steps, or the whole
// run where it is small.
struct TimelineDetail {
  uint32_t process = 0;
  std::string title;  // "step 41, typical", "step 7, slowest"
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<TimelineDetailTrack> tracks;
};

// An arrow between kept spans, as from a launch to its kernel. A span is given by its number,
// counted through the details, their tracks and the spans of these; kNoText: it is not kept.
struct TimelineFlow {
  uint32_t from, to;
};

struct Timeline {
  int64_t begin_ns = 0, end_ns = 0;  // of the run; all times are on the trace's clock
  std::vector<std::string> texts;
  std::vector<TimelineProcess> processes;
  std::vector<TimelineDetail> details;
  std::vector<std::vector<uint32_t>> args;  // key, value, key, value, ...: indices into texts
  std::vector<TimelineFlow> flows;
  uint64_t omitted_tracks = 0;
  uint64_t omitted_flows = 0;  // of kept spans, over the limit
};

// Bounds of a timeline's size, however long the run.
struct TimelineOptions {
  size_t max_tiles = 40000;         // in all levels and tracks together
  size_t max_tracks = 256;          // the busiest ones; the rest is counted in omitted_tracks
  size_t max_detail_spans = 25000;  // in all details together
  size_t max_arg_bytes = 400'000;   // of the spans' arguments
  size_t max_flows = 12000;
  std::vector<int64_t> steps;  // numbers of steps whose spans are kept before those of others
};

}  // namespace crosscut::analyze
