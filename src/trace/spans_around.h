// Questions about what is around a span or open at an instant. A track's answers are found in one
// pass over it at the first question, so that deep nesting does not cost a walk for each question.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// The nearest span that counts, such as an operator, an operation or a module. Takes four bytes a
// span of the tracks with questions. Not thread-safe.
class SpansAround {
 public:
  enum class Which : uint8_t { kInnermost, kOutermost };
  using Counts = std::function<bool(TrackId track, SpanIndex span)>;

  // `trace` and what `counts` refers to must outlive it.
  SpansAround(const Trace& trace, Counts counts, Which which = Which::kInnermost);

  // `span` itself or one around it that counts; kNoSpan where none does, and for kNoSpan.
  SpanIndex Of(TrackId track, SpanIndex span);

 private:
  void Find(TrackId track, std::vector<SpanIndex>* around) const;

  const Trace& trace_;
  Counts counts_;
  Which which_;
  std::vector<std::vector<SpanIndex>> around_;  // by track, then span; empty: not asked yet
};

// What is open on a track at an instant. Takes four bytes a span, and eight while it is made.
class OpenSpans {
 public:
  // `spans` must outlive it and must not change.
  explicit OpenSpans(const Spans& spans);

  // The innermost span with begin <= at < end; kNoSpan: none.
  SpanIndex InnermostAt(int64_t at) const { return FirstAround(at, at + 1); }
  // The same with the end included: begin <= at <= end.
  SpanIndex InnermostTouching(int64_t at) const { return FirstAround(at, at); }

 private:
  SpanIndex FirstAround(int64_t at, int64_t ends_from) const;

  const Spans& spans_;
  std::vector<SpanIndex> jump_;  // an ancestor, near or far
};

// OpenSpans for all tracks of a trace, each made at its first use. Not thread-safe.
class OpenSpansByTrack {
 public:
  // `trace` must outlive it.
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
