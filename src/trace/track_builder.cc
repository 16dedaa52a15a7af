#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "src/trace/builder.h"
#include "src/trace/lanes.h"
#include "src/trace/spans_around.h"

namespace crosscut::trace {
namespace {

// An end cuts so many spans, or for each span that was begun so many are cut.
constexpr size_t kFewCuts = 32, kMostCuts = 32;

// Adds to those of `owner` all that `from` has for `which`.
void AddAll(uint32_t owner, const Args& from, uint32_t which, Args* to) {
  for (const Arg& arg : from.of(which)) to->Add(owner, arg);
}

// Brings the instants in order of time; those of one time stay as they were.
void SortInstants(Instants* instants, Args* args) {
  if (std::is_sorted(instants->at_ns.begin(), instants->at_ns.end())) return;
  std::vector<SpanIndex> order(instants->at_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](SpanIndex a, SpanIndex b) {
    return instants->at_ns[a] < instants->at_ns[b];
  });
  Instants sorted;
  Args sorted_args;
  for (const SpanIndex i : order) {
    AddAll(static_cast<uint32_t>(sorted.at_ns.size()), *args, i, &sorted_args);
    sorted.at_ns.push_back(instants->at_ns[i]);
    sorted.name.push_back(instants->name[i]);
  }
  *instants = std::move(sorted);
  *args = std::move(sorted_args);
}

}  // namespace

void TrackBuilder::Reserve(size_t spans) {
  track_.spans.begin_ns.reserve(spans);
  track_.spans.end_ns.reserve(spans);
  track_.spans.name.reserve(spans);
  track_.spans.parent.reserve(spans);
}

void TrackBuilder::EndNamed(int64_t at, NameId name) {
  at = Advance(at);
  for (size_t depth = open_.size(); depth-- > 0;) {
    if (track_.spans.name[open_[depth]] != name) continue;
    if (tells_all_ends_ || NameOf(open_[depth]).crosses) {
      return EndOne(depth, at, [](SpanIndex) { return true; });
    }
    if (IsOperation(open_[depth])) {
      return EndOne(depth, at, [this](SpanIndex span) {
        return !IsOperation(span) && NameOf(span).probe.valid();
      });
    }
    return EndOne(depth, at, [this](SpanIndex span) { return EndsByName(span); });
  }
  ++track_.unbalanced;
  const Name& ended = (*names_)[name.value];
  if (ended.kind == Kind::kOperation || ended.crosses) ends_elsewhere_.push_back({at, name});
}

std::vector<SpanIndex> TrackBuilder::Unended() const {
  std::vector<SpanIndex> spans = taken_along_;
  std::copy_if(open_.begin(), open_.end(), std::back_inserter(spans),
               [this](SpanIndex span) { return EndsByName(span); });
  return spans;
}

void TrackBuilder::TakeOut(std::vector<SpanIndex> spans) {
  std::sort(spans.begin(), spans.end());
  const auto taken = [&](SpanIndex span) {
    return std::binary_search(spans.begin(), spans.end(), span);
  };
  open_.erase(std::remove_if(open_.begin(), open_.end(), taken), open_.end());
  for (SpanIndex span : spans) {
    for (; span != kNoSpan; span = CutPart(span)) taken_.push_back(span);
  }
}

void TrackBuilder::EndAt(int64_t at, size_t depth) {
  EndOne(depth, Advance(at), [](SpanIndex) { return true; });
}

void TrackBuilder::EndThose(int64_t at, std::span<const int64_t> ends) {
  auto next = std::find(ends.begin(), ends.end(), at);
  EndOne(static_cast<size_t>(next - ends.begin()), Advance(at),
         [&](SpanIndex) { return *++next != at; });
}

void TrackBuilder::EndBelow(int64_t at) {
  at = Advance(at);
  for (size_t depth = open_.size(); depth-- > 0;) {
    if (EndsByName(open_[depth])) continue;
    return EndOne(depth, at, [](SpanIndex) { return true; });
  }
  ++track_.unbalanced;
}

template <class GoesOn>
void TrackBuilder::EndOne(size_t depth, int64_t at, GoesOn goes_on) {
  if (depth + 1 == open_.size()) return CloseFrom(depth, at);
  std::vector<SpanIndex> left;
  for (size_t i = depth + 1; i < open_.size(); ++i) {
    if (goes_on(open_[i])) {
      left.push_back(open_[i]);
    } else if (EndsByName(open_[i])) {
      taken_along_.push_back(open_[i]);
    }
  }
  if (!MayCut(left.size())) return EndBeneath(depth, at, left);
  CloseFrom(depth, at);
  for (const SpanIndex part : left) {
    NoteContinued(part);
    Open(at, track_.spans.name[part]);
  }
}

bool TrackBuilder::MayCut(size_t spans) {
  const size_t begun = track_.spans.size() - cuts_;
  if (spans > kFewCuts && cuts_ + spans > kMostCuts * begun) return false;
  cuts_ += spans;
  return true;
}

// What ends lies beside those that go on, before them.
void TrackBuilder::EndBeneath(size_t depth, int64_t at, std::span<const SpanIndex> left) {
  Spans& spans = track_.spans;
  auto next = left.begin();
  size_t kept = depth;
  for (size_t i = depth; i < open_.size(); ++i) {
    const SpanIndex span = open_[i];
    if (next != left.end() && *next == span) {
      ++next;
      spans.parent[span] = kept == 0 ? kNoSpan : open_[kept - 1];
      open_[kept++] = span;
    } else if (next != left.end()) {
      spans.end_ns[span] = spans.begin_ns[*next];
      spans.stated_ends.emplace_back(span, at);
      ++outlived_;
    } else {
      spans.end_ns[span] = at;
    }
  }
  open_.resize(kept);
}

void TrackBuilder::SpanAt(int64_t begin, int64_t end, NameId name) {
  if (end < begin) {
    end = begin;
    ++track_.clamped;
  }
  closed_.push_back({begin, end, name, static_cast<uint32_t>(closed_.size())});
  last_ = Target::kClosed;
}

void TrackBuilder::Spread(const std::function<TrackBuilder*()>& beside) {
  std::sort(closed_.begin(), closed_.end(), Closed::Before);
  Crossing crossing;
  for (const Closed& span : closed_) crossing.Add(span.begin, span.end);
  if (!crossing.any()) return;
  std::vector<int64_t> ends;    // by lane: of its last span
  std::vector<uint32_t> lanes;  // by span
  for (const Closed& span : closed_) {
    auto lane =
        std::find_if(ends.begin(), ends.end(), [&](int64_t end) { return end <= span.begin; });
    if (lane == ends.end()) {
      if (ends.size() < kMostLanes) ends.push_back(INT64_MIN);
      lane = ends.end() - 1;
    }
    *lane = std::max(*lane, span.end);
    lanes.push_back(static_cast<uint32_t>(lane - ends.begin()));
  }
  MoveTo(lanes, ends.size(), beside);
}

void TrackBuilder::MoveTo(std::span<const uint32_t> lanes, size_t count,
                          const std::function<TrackBuilder*()>& beside) {
  std::vector<TrackBuilder*> tracks = {this};
  while (tracks.size() < count) tracks.push_back(beside());
  const std::vector<Closed> spans = std::exchange(closed_, {});
  const Args args = std::exchange(closed_args_, {});
  std::vector<std::pair<TrackBuilder*, SpanIndex>> places(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    TrackBuilder* const to = tracks[lanes[i]];
    places[spans[i].order] = {to, static_cast<SpanIndex>(to->closed_.size())};
    to->SpanAt(spans[i].begin, spans[i].end, spans[i].name);
    AddAll(places[spans[i].order].second, args, spans[i].order, &to->closed_args_);
  }
  const auto flows = std::exchange(flows_, {});
  for (size_t i = 0; i < flows.size(); ++i) {
    FlowEnd end = flows[i];
    TrackBuilder* to = this;
    if (end.closed) std::tie(to, end.span) = places[end.span];
    end.track = to->id_;
    to->flows_.push_back(end);
  }
}

void TrackBuilder::Instant(int64_t at, NameId name) {
  track_.instants.at_ns.push_back(at);
  track_.instants.name.push_back(name);
  last_ = Target::kInstant;
}

Args* TrackBuilder::ArgsOfLast(uint32_t* owner) {
  switch (last_) {
    case Target::kNothing: return nullptr;
    case Target::kSpan: *owner = static_cast<SpanIndex>(track_.spans.size() - 1); break;
    case Target::kClosed: *owner = static_cast<SpanIndex>(closed_.size() - 1); return &closed_args_;
    case Target::kInstant:
      *owner = static_cast<uint32_t>(track_.instants.at_ns.size() - 1);
      return &track_.instant_args;
  }
  return &track_.args;
}

void TrackBuilder::Add(const trace::Arg& arg) {
  uint32_t owner = 0;
  if (Args* const args = ArgsOfLast(&owner)) args->Add(owner, arg);
}

void TrackBuilder::TakeArgs(Args* from, uint32_t which) {
  uint32_t owner = 0;
  if (Args* const args = ArgsOfLast(&owner)) args->Take(owner, from, which);
}

void TrackBuilder::AddFlow(int64_t at, uint64_t id, bool out) {
  flows_.push_back({id, Advance(at), id_, open_.empty() ? kNoSpan : open_.back(), out});
}

void TrackBuilder::Base(int64_t at, Layer layer) {
  if (off_) {
    base_before_off_ = layer;
    return;
  }
  if (!track_.base.empty()) {
    if (track_.base.back() == layer) return;
    at = std::max(at, track_.base_at_ns.back());
  } else if (layer == Layer::kNone) {
    return;
  }
  track_.base_at_ns.push_back(at);
  track_.base.push_back(layer);
}

void TrackBuilder::CloseFrom(size_t depth, int64_t at) {
  for (size_t i = depth; i < open_.size(); ++i) track_.spans.end_ns[open_[i]] = at;
  open_.resize(depth);
}

void TrackBuilder::Off(int64_t at) {
  if (off_) return;
  base_before_off_ = track_.base.empty() ? Layer::kNone : track_.base.back();
  Base(Advance(at), Layer::kNone);
  off_ = true;
}

void TrackBuilder::On(int64_t at) {
  if (!off_) return;
  off_ = false;
  Base(Advance(at), base_before_off_);
}

void TrackBuilder::Restart(int64_t ended, int64_t at, std::span<const NameId> open) {
  cut_.clear();
  size_t same = 0;
  while (same < open.size() && same < open_.size() &&
         track_.spans.name[open_[same]] == open[same]) {
    ++same;
  }
  CloseFrom(same, Advance(ended));
  if (same == open.size()) return;
  at = Advance(at);
  for (; same < open.size(); ++same) Open(at, open[same]);
  last_ = Target::kNothing;
}

void TrackBuilder::Finish(int64_t begin, int64_t end) {
  finished_ = true;
  end = std::max({begin, end, last_ns_});
  track_.unfinished += static_cast<int64_t>(open_.size());
  CloseFrom(0, end);
  FindParts();
  std::sort(track_.spans.stated_ends.begin(), track_.spans.stated_ends.end());
  if (!taken_.empty()) RemoveTaken();
  if (!closed_.empty()) MergeClosed();
  SortInstants(&track_.instants, &track_.instant_args);
  const Spans& spans = track_.spans;
  if (spans.size() != 0) {
    begin = std::min(begin, spans.begin_ns.front());
    for (size_t i = 0; i < spans.size(); ++i) end = std::max(end, spans.end_ns[i]);
  }
  track_.begin_ns = begin;
  track_.end_ns = end;
}

// The others keep their order; where a parent is gone, its own takes its place.
void TrackBuilder::RemoveTaken() {
  std::sort(taken_.begin(), taken_.end());
  const Spans& spans = track_.spans;
  Spans kept;
  Args args = track_.args.LikeThese();
  Column<SpanIndex> place(spans.size());  // of what is gone: its parent's
  auto next = taken_.begin();
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const SpanIndex parent = spans.parent[i] == kNoSpan ? kNoSpan : place[spans.parent[i]];
    if (next != taken_.end() && *next == i) {
      ++next;
      place[i] = parent;
      continue;
    }
    place[i] = static_cast<SpanIndex>(kept.size());
    args.Take(place[i], &track_.args, i);
    kept.begin_ns.push_back(spans.begin_ns[i]);
    kept.end_ns.push_back(spans.end_ns[i]);
    kept.name.push_back(spans.name[i]);
    kept.parent.push_back(parent);
  }
  const auto taken = [&](SpanIndex span) {
    return std::binary_search(taken_.begin(), taken_.end(), span);
  };
  for (size_t i = 0; i < spans.continued.size(); ++i) {
    const SpanIndex span = spans.continued[i], part = spans.parts_before[i];
    if (taken(span) || taken(part)) continue;
    kept.continued.push_back(place[span]);
    kept.parts_before.push_back(place[part]);
  }
  for (const auto& [span, end] : spans.stated_ends) {
    if (!taken(span)) kept.stated_ends.emplace_back(place[span], end);
  }
  for (size_t i = 0; i < flows_.size(); ++i) {
    SpanIndex& span = flows_[i].span;
    if (!flows_[i].closed && span != kNoSpan) span = place[span];
  }
  track_.spans = std::move(kept);
  track_.args = std::move(args);
}

// Spans timed elsewhere join those of the stack. At equal begins the longer one is the parent, and
// spans of the stack keep their order among themselves.
void TrackBuilder::MergeClosed() {
  const Spans& spans = track_.spans;
  std::sort(closed_.begin(), closed_.end(), Closed::Before);
  const size_t total = spans.size() + closed_.size();
  Spans nested;
  nested.begin_ns.reserve(total);
  nested.end_ns.reserve(total);
  nested.name.reserve(total);
  nested.parent.reserve(total);
  Column<SpanIndex> opened_at, closed_at(closed_.size());
  opened_at.reserve(spans.size());
  std::vector<SpanIndex> open;
  const auto add = [&](int64_t begin, int64_t end, NameId name) {
    const auto index = static_cast<SpanIndex>(nested.size());
    while (!open.empty() && nested.end_ns[open.back()] <= begin) open.pop_back();
    if (!open.empty() && end > nested.end_ns[open.back()]) {
      end = nested.end_ns[open.back()];
      ++track_.clamped;
    }
    nested.parent.push_back(open.empty() ? kNoSpan : open.back());
    open.push_back(index);
    nested.begin_ns.push_back(begin);
    nested.end_ns.push_back(end);
    nested.name.push_back(name);
    return index;
  };
  auto next = closed_.begin();
  const auto add_closed = [&] {
    closed_at[next->order] = add(next->begin, next->end, next->name);
    ++next;
  };
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t begin = spans.begin_ns[i], end = spans.end_ns[i];
    while (next != closed_.end() &&
           (next->begin < begin || (next->begin == begin && next->end > end))) {
      add_closed();
    }
    opened_at.push_back(add(begin, end, spans.name[i]));
  }
  while (next != closed_.end()) add_closed();
  nested.continued = std::move(track_.spans.continued);
  nested.parts_before = std::move(track_.spans.parts_before);
  nested.stated_ends = std::move(track_.spans.stated_ends);
  track_.spans = std::move(nested);
  Remap(opened_at, closed_at);
}

void TrackBuilder::Remap(const Column<SpanIndex>& opened, const Column<SpanIndex>& closed) {
  Args args = track_.args.LikeThese();
  for (SpanIndex i = 0; i < opened.size(); ++i) args.Take(opened[i], &track_.args, i);
  for (SpanIndex i = 0; i < closed.size(); ++i) AddAll(closed[i], closed_args_, i, &args);
  track_.args = std::move(args);
  for (SpanIndex& span : track_.spans.continued) span = opened[span];
  for (auto& [span, end] : track_.spans.stated_ends) span = opened[span];
  for (SpanIndex& part : track_.spans.parts_before) part = opened[part];
  closed_args_ = {};
  closed_.clear();
  std::optional<OpenSpans> open;  // eight bytes a span, which most tracks need not have
  for (size_t i = 0; i < flows_.size(); ++i) {
    FlowEnd& end = flows_[i];
    if (std::exchange(end.closed, false)) {
      end.span = closed[end.span];
      continue;
    }
    if (end.span != kNoSpan) {
      end.span = opened[end.span];
      continue;
    }
    if (!open) open.emplace(track_.spans);
    end.span = open->InnermostTouching(end.at_ns);  // an arrow may leave where a span ends
  }
}

}  // namespace crosscut::trace
