// Joins the parts of spans that were cut, for readers that count each span once.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "src/trace/trace.h"

namespace crosscut::trace {

// The spans of one track, which must outlive it and not change. Costs nothing where no span was
// cut. Parts with a gap between them, as of a task that was suspended, are not joined.
class WholeSpans {
 public:
  explicit WholeSpans(const Spans& spans);

  // The part with which the span begins: `span` itself, unless it goes on with an earlier part.
  SpanIndex first(SpanIndex span) const {
    const auto at = firsts_.find(span);
    return at == firsts_.end() ? span : at->second;
  }
  // Where the last part of the span ends. Requires: first(span) == span.
  int64_t end_ns(SpanIndex span) const {
    const auto at = ends_.find(span);
    return at == ends_.end() ? spans_.end_ns[span] : at->second;
  }

 private:
  const Spans& spans_;
  std::unordered_map<SpanIndex, SpanIndex> firsts_;  // by part
  std::unordered_map<SpanIndex, int64_t> ends_;      // by first part
};

// WholeSpans of all tracks of a trace, which must outlive it.
class WholeSpansByTrack {
 public:
  explicit WholeSpansByTrack(const Trace& trace) {
    for (const Track& track : trace.tracks) tracks_.emplace_back(track.spans);
  }
  const WholeSpans& operator[](uint32_t track) const { return tracks_[track]; }
  // Equal for all parts of a span, and for no other.
  uint64_t Key(uint32_t track, SpanIndex span) const {
    return uint64_t{track} << 32 | tracks_[track].first(span);
  }

 private:
  std::deque<WholeSpans> tracks_;
};

// How many spans of its name lie in a part and end when it does: TrackBuilder::GoesOnWith. `spans`
// must outlive it and not change. Costs as much as the spans that end together, once for all.
class EndedInside {
 public:
  explicit EndedInside(const Spans& spans) : spans_(spans) {}
  uint32_t Of(SpanIndex part);

 private:
  const Spans& spans_;
  std::unordered_map<SpanIndex, uint32_t> known_;
};

}  // namespace crosscut::trace
