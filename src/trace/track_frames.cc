// Frames of a hook on calls that went out and came back: what of a track's stack goes on.
#include <algorithm>

#include "src/trace/builder.h"

namespace crosscut::trace {

void TrackBuilder::EndFrames(int64_t at, const Frames& frames) {
  const auto is_frame = [&](SpanIndex span) {
    return frames.contains(track_.spans.name[span].value);
  };
  const auto first = std::find_if(open_.begin(), open_.end(), is_frame);
  if (first == open_.end()) return;
  last_ns_ = at = std::max(at, last_ns_);
  std::vector<SpanIndex> left;
  for (auto open = first; open != open_.end(); ++open) {
    (is_frame(*open) ? cut_ : left).push_back(*open);
  }
  CloseFrom(static_cast<size_t>(first - open_.begin()), at);
  for (const SpanIndex part : left) {
    NoteContinued(part);
    Open(at, track_.spans.name[part]);
  }
}

// Native calls keep their places; frames stand right below the next native call that they lead to,
// the innermost ones above all but what Crosscut itself is doing.
std::vector<TrackBuilder::Next> TrackBuilder::Arrange(std::span<const Running> running) const {
  // From inside out: where begins were lost, those of the outermost were.
  std::vector<size_t> place(running.size(), open_.size());
  for (size_t i = running.size(), above = open_.size(); i-- > 0;) {
    size_t at = running[i].begun ? above : 0;
    while (at > 0 && track_.spans.name[open_[at - 1]] != running[i].name) --at;
    if (at > 0) place[i] = above = at - 1;
  }
  std::vector<Next> next, frames;
  size_t at = 0;
  const auto take_to = [&](size_t end) {
    for (; at < end; ++at) next.push_back({open_[at], track_.spans.name[open_[at]]});
  };
  const auto take_frames = [&] {
    next.insert(next.end(), frames.begin(), frames.end());
    frames.clear();
  };
  for (size_t i = 0; i < running.size(); ++i) {
    if (place[i] == open_.size()) {
      frames.push_back({kNoSpan, running[i].name});
      continue;
    }
    take_to(place[i]);
    take_frames();
    take_to(place[i] + 1);
  }
  size_t top = open_.size();
  while (top > at && NameOf(open_[top - 1]).layer == Layer::kOverhead) --top;
  take_to(top);
  take_frames();
  take_to(open_.size());
  return next;
}

// The span of that name that was cut, at or behind `*from`, which moves behind it; else kNoSpan.
SpanIndex TrackBuilder::TakeCut(NameId name, size_t* from) const {
  const auto cut = std::find_if(cut_.begin() + static_cast<ptrdiff_t>(*from), cut_.end(),
                                [&](SpanIndex span) { return track_.spans.name[span] == name; });
  if (cut == cut_.end()) return kNoSpan;
  *from = static_cast<size_t>(cut - cut_.begin()) + 1;
  return *cut;
}

void TrackBuilder::Runs(int64_t at, std::span<const Running> running, const Frames& frames) {
  last_ns_ = at = std::max(at, last_ns_);
  EndFrames(at, frames);
  const std::vector<Next> next = Arrange(running);
  size_t same = 0;
  while (same < open_.size() && next[same].span == open_[same]) ++same;
  CloseFrom(same, at);
  size_t from = 0;
  for (; same < next.size(); ++same) {
    const bool open = next[same].span != kNoSpan;
    const SpanIndex part = open ? next[same].span : TakeCut(next[same].name, &from);
    if (part != kNoSpan) NoteContinued(part);
    Open(at, next[same].name);
  }
  cut_.clear();
  last_ = Target::kNothing;
}

}  // namespace crosscut::trace
