#include "src/trace/spans_around.h"

#include <algorithm>
#include <utility>

namespace crosscut::trace {

SpansAround::SpansAround(const Trace& trace, Counts counts, Which which)
    : trace_(trace), counts_(std::move(counts)), which_(which), around_(trace.tracks.size()) {}

SpanIndex SpansAround::Of(TrackId track, SpanIndex span) {
  if (span == kNoSpan) return kNoSpan;
  std::vector<SpanIndex>& around = around_[track.value];
  if (around.empty()) Find(track, &around);
  return around[span];
}

// A parent stands before its children.
void SpansAround::Find(TrackId track, std::vector<SpanIndex>* around) const {
  const Spans& spans = trace_.tracks[track.value].spans;
  around->resize(spans.size());
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i];
    const SpanIndex outer = parent == kNoSpan ? kNoSpan : (*around)[parent];
    const bool keeps = which_ == Which::kOutermost && outer != kNoSpan;
    (*around)[i] = !keeps && counts_(track, i) ? i : outer;
  }
}

// Jump pointers as of E. Myers, "An applicative random-access stack", 1983: with one pointer a span
// beside its parent every ancestor is reached in steps that grow with the logarithm of the depth.
OpenSpans::OpenSpans(const Spans& spans) : spans_(spans), jump_(spans.size(), kNoSpan) {
  std::vector<uint32_t> depth(spans.size());
  const auto depth_of = [&](SpanIndex span) { return span == kNoSpan ? 0 : depth[span]; };
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i];
    depth[i] = depth_of(parent) + 1;
    if (parent == kNoSpan) continue;
    const SpanIndex near = jump_[parent], far = near == kNoSpan ? kNoSpan : jump_[near];
    const bool equal = depth_of(parent) - depth_of(near) == depth_of(near) - depth_of(far);
    jump_[i] = near != kNoSpan && equal ? far : parent;
  }
}

SpanIndex OpenSpans::FirstAround(int64_t at, int64_t ends_from) const {
  const auto after = std::upper_bound(spans_.begin_ns.begin(), spans_.begin_ns.end(), at);
  if (after == spans_.begin_ns.begin()) return kNoSpan;
  auto span = static_cast<SpanIndex>(after - spans_.begin_ns.begin() - 1);
  // An ancestor ends no earlier than what it holds: where a far one has ended, so have those below.
  while (span != kNoSpan && spans_.end_ns[span] < ends_from) {
    const SpanIndex far = jump_[span];
    span = far != kNoSpan && spans_.end_ns[far] < ends_from ? far : spans_.parent[span];
  }
  return span;
}

}  // namespace crosscut::trace
