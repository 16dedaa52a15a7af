// The strict reading of an XSpace that C8 demands: everything a reader may rely on holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/xspace/reader.h"

namespace crosscut::check {

using xspace::kMaxSpaceBytes;

struct SpaceFault {
  const char* rule;  // "C8.wire"
  bool warn;
  std::string text;  // with the place
};

// Events must lie in [begin_ns, end_ns] of CLOCK_REALTIME +- 1 ms, or be counted from the session's
// start (their line's timestamp is smaller than the session is long). Each rule is told once, at
// its first place.
std::vector<SpaceFault> CheckSpace(std::string_view bytes, int64_t begin_ns, int64_t end_ns);

// An event's place in time, to recognise it again.
struct EventTime {
  int64_t line_ns, offset_ps, duration_ps;
  bool operator<(const EventTime& other) const {
    return std::tie(line_ns, offset_ps, duration_ps) <
           std::tie(other.line_ns, other.offset_ps, other.duration_ps);
  }
};
// Of all events that carry absolute times, up to `most` of them.
std::vector<EventTime> AbsoluteEvents(std::string_view bytes, size_t most);
// How many events there are; -1 where the bytes do not parse.
int64_t CountEvents(std::string_view bytes);
// Whether the space says that something is missing: a text in errors or warnings, or a stat whose
// name has "drop" or "lost" in it.
bool TellsOfLoss(std::string_view bytes);

}  // namespace crosscut::check
