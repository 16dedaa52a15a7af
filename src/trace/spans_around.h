// Questions about what is around a span or open at an instant, as many as one likes about spans of
// any depth: a track's answers are found in one pass over it, at the first question, so that deep
// nesting does not cost a walk for each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// The nearest span that counts: an operator, an operation, a module. Four bytes a span of the
// tracks that are asked about. Not thread-safe.
class SpansAround {
 public:
  enum class Which : uint8_t { kInnermost, kOutermost };
  using Counts = std::function<bool(TrackId track, SpanIndex span)>;

  // `trace` and what `counts` refers to outlive it.
  SpansAround(const Trace& trace, Counts counts, Which which = Which::kInnermost);

  // `span` itself or one around it. kNoSpan where none counts, and for kNoSpan.
  SpanIndex Of(TrackId track, SpanIndex span);

 private:
  void Find(TrackId track, std::vector<SpanIndex>* around) const;

  const Trace& trace_;
  Counts counts_;
  Which which_;
  std::vector<std::vector<SpanIndex>> around_;  // by track, then span; empty: not asked yet
};

// What is open on a track at an instant. Eight bytes a span.
class OpenSpans {
 public:
  // `spans` outlives it and is not changed.
  explicit OpenSpans(const Spans& spans);

  // The innermost span with begin <= at < end; kNoSpan: none.
  SpanIndex InnermostAt(int64_t at) const { return FirstAround(at, at + 1); }
  // Its end included: begin <= at <= end.
  SpanIndex InnermostTouching(int64_t at) const { return FirstAround(at, at); }

 private:
  SpanIndex FirstAround(int64_t at, int64_t ends_from) const;

  const Spans& spans_;
  std::vector<SpanIndex> jump_;  // an ancestor, near or far
};

// The same for all tracks of a trace, each at its first question. Not thread-safe.
class OpenSpansByTrack {
 public:
  // `trace` outlives it.
  explicit OpenSpansByTrack(const Trace& trace) : trace_(trace), tracks_(trace.tracks.size()) {}

  const OpenSpans& of(TrackId track) {
    std::unique_ptr<OpenSpans>& open = tracks_[track.value];
    if (open == nullptr) open = std::make_unique<OpenSpans>(trace_.tracks[track.value].spans);
    return *open;
  }

 private:
  const Trace& trace_;
  std::vector<std::unique_ptr<OpenSpans>> tracks_;
};

}  // namespace crosscut::trace
