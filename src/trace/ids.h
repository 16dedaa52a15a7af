// Indices into the parts of a trace. They have types of their own and cannot be mixed up.
#pragma once

#include <cstdint>
#include <limits>

namespace crosscut::trace {

// None() stands for an absent part.
template <class Tag>
struct Id {
  uint32_t value = std::numeric_limits<uint32_t>::max();
  static constexpr Id None() { return {}; }
  bool valid() const { return value != std::numeric_limits<uint32_t>::max(); }
  friend bool operator==(Id, Id) = default;
};
using StringId = Id<struct StringTag>;    // into Trace::strings
using NameId = Id<struct NameTag>;        // into Trace::names
using ProcessId = Id<struct ProcessTag>;  // into Trace::processes
using TrackId = Id<struct TrackTag>;      // into Trace::tracks
using SpanIndex = uint32_t;               // into Track::spans
inline constexpr SpanIndex kNoSpan = std::numeric_limits<uint32_t>::max();

}  // namespace crosscut::trace
