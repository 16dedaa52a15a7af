#include <algorithm>
#include <numeric>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

// Rearranges args so that `span` is sorted; the order inside a span stays.
void SortArgs(Args* args) {
  if (std::is_sorted(args->span.begin(), args->span.end())) return;
  std::vector<uint32_t> order(args->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return args->span[a] < args->span[b]; });
  Args sorted;
  for (uint32_t i : order) {
    sorted.span.push_back(args->span[i]);
    sorted.key.push_back(args->key[i]);
    sorted.value.push_back(args->value[i]);
    sorted.text.push_back(args->text[i]);
  }
  *args = std::move(sorted);
}

void Append(Args* args, SpanIndex span, StringId key, int64_t value, StringId text) {
  args->span.push_back(span);
  args->key.push_back(key);
  args->value.push_back(value);
  args->text.push_back(text);
}

// The innermost span that holds `at` (its end included: an arrow may leave there).
SpanIndex InnermostAt(const Spans& spans, int64_t at) {
  const auto after = std::upper_bound(spans.begin_ns.begin(), spans.begin_ns.end(), at);
  if (after == spans.begin_ns.begin()) return kNoSpan;
  auto span = static_cast<SpanIndex>(after - spans.begin_ns.begin() - 1);
  while (span != kNoSpan && spans.end_ns[span] < at) span = spans.parent[span];
  return span;
}

}  // namespace

void TrackBuilder::EndNamed(int64_t at, NameId name) {
  at = Advance(at);
  for (size_t depth = open_.size(); depth-- > 0;) {
    if (track_.spans.name[open_[depth]] == name) return CloseFrom(depth, at);
  }
  ++track_.unbalanced;
}

void TrackBuilder::SpanAt(int64_t begin, int64_t end, NameId name) {
  if (end < begin) {
    end = begin;
    ++track_.clamped;
  }
  closed_.push_back({begin, end, name, static_cast<uint32_t>(closed_.size())});
  last_ = Target::kClosed;
}

void TrackBuilder::Instant(int64_t at, NameId name) {
  track_.instants.at_ns.push_back(at);
  track_.instants.name.push_back(name);
  last_ = Target::kInstant;
}

void TrackBuilder::AddArg(StringId key, int64_t value, StringId text) {
  switch (last_) {
    case Target::kNothing: return;
    case Target::kSpan:
      return Append(&track_.args, static_cast<SpanIndex>(track_.spans.size() - 1), key, value,
                    text);
    case Target::kClosed:
      return Append(&closed_args_, static_cast<SpanIndex>(closed_.size() - 1), key, value, text);
    case Target::kInstant:
      return Append(&track_.instant_args,
                    static_cast<SpanIndex>(track_.instants.at_ns.size() - 1), key, value, text);
  }
}

void TrackBuilder::AddFlow(int64_t at, uint64_t id, bool out) {
  flows_.push_back({id, Advance(at), id_, open_.empty() ? kNoSpan : open_.back(), out});
}

void TrackBuilder::StepLevel(int64_t number, uint8_t level, bool after_switch) {
  const bool closed = last_ == Target::kClosed;
  if (!closed && last_ != Target::kSpan) return;
  const NameId name = closed ? closed_.back().name : track_.spans.name.back();
  if ((*names_)[name.value].kind != Kind::kStep) return;
  const size_t count = closed ? closed_.size() : track_.spans.size();
  steps_.push_back({static_cast<SpanIndex>(count - 1), number, level, after_switch, closed});
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
  SetStale(std::min(stale_, depth));
}

void TrackBuilder::SetStale(size_t depth) {
  stale_ = depth;
  stale_top_ = depth == 0 ? kNoSpan : open_[depth - 1];
}

// A stale span is over at the latest when its like begins again: a step at the next step, an
// operation or phase at the next of its name.
void TrackBuilder::EndStale(int64_t at, NameId name) {
  const Kind kind = (*names_)[name.value].kind;
  if (kind == Kind::kSpan) return;
  for (size_t depth = 0; depth < stale_; ++depth) {
    const NameId other = track_.spans.name[open_[depth]];
    const bool like = other == name || (kind == Kind::kStep &&
                                        (*names_)[other.value].kind == Kind::kStep);
    if (like) return CloseFrom(depth, at);
  }
}

// Whether a span without a name in its end is over cannot be known behind a gap, so it ends here.
// Named spans above such a span are cut in two, so that nesting holds.
void TrackBuilder::Gap(int64_t at, bool lost) {
  size_t keep = 0;
  while (keep < open_.size() && Named(track_.spans.name[open_[keep]])) ++keep;
  std::vector<NameId> reopen;
  for (size_t i = keep; i < open_.size(); ++i) {
    const NameId name = track_.spans.name[open_[i]];
    if (Named(name)) reopen.push_back(name);
    else if (lost) ++track_.unfinished;
  }
  CloseFrom(keep, at);
  for (NameId name : reopen) Open(at, name);
  SetStale(open_.size());
  last_ = Target::kNothing;
}

void TrackBuilder::Off(int64_t at) {
  if (off_) return;
  at = Advance(at);
  Gap(at, false);
  base_before_off_ = track_.base.empty() ? Layer::kNone : track_.base.back();
  Base(at, Layer::kNone);
  off_ = true;
}

void TrackBuilder::On(int64_t at) {
  if (!off_) return;
  off_ = false;
  Base(Advance(at), base_before_off_);
}

void TrackBuilder::Lose(const Loss& loss) {
  track_.losses.push_back(loss);
  if (off_) return;
  const Layer base = track_.base.empty() ? Layer::kNone : track_.base.back();
  const int64_t begin = std::max(loss.begin_ns, last_ns_);
  const int64_t end = std::max(begin, loss.end_ns);
  Gap(Advance(begin), true);
  Base(begin, Layer::kNone);
  Base(Advance(end), base);
}

void TrackBuilder::Finish(int64_t begin, int64_t end) {
  finished_ = true;
  end = std::max({begin, end, last_ns_});
  track_.unfinished += static_cast<int64_t>(open_.size());
  CloseFrom(0, end);
  if (!closed_.empty()) MergeClosed();
  SortArgs(&track_.args);
  const Spans& spans = track_.spans;
  if (spans.size() != 0) {
    begin = std::min(begin, spans.begin_ns.front());
    for (size_t i = 0; i < spans.size(); ++i) end = std::max(end, spans.end_ns[i]);
  }
  track_.begin_ns = begin;
  track_.end_ns = end;
}

// Spans timed elsewhere join those of the stack. At equal begins the longer one is the parent, and
// spans of the stack keep their order among themselves.
void TrackBuilder::MergeClosed() {
  const Spans& spans = track_.spans;
  std::sort(closed_.begin(), closed_.end(), [](const Closed& a, const Closed& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : a.order < b.order;
  });
  std::vector<SpanIndex> opened_at(spans.size()), closed_at(closed_.size());
  std::vector<Closed> all;
  all.reserve(spans.size() + closed_.size());
  size_t next = 0;
  const auto take_closed = [&] {
    closed_at[closed_[next].order] = static_cast<SpanIndex>(all.size());
    all.push_back(closed_[next++]);
  };
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t begin = spans.begin_ns[i], end = spans.end_ns[i];
    while (next < closed_.size() && (closed_[next].begin < begin ||
                                     (closed_[next].begin == begin && closed_[next].end > end))) {
      take_closed();
    }
    opened_at[i] = static_cast<SpanIndex>(all.size());
    all.push_back({begin, end, spans.name[i], 0});
  }
  while (next < closed_.size()) take_closed();
  NestMerged(&all);
  Remap(opened_at, closed_at);
}

void TrackBuilder::NestMerged(std::vector<Closed>* all) {
  Spans nested;
  nested.begin_ns.reserve(all->size());
  nested.end_ns.reserve(all->size());
  nested.name.reserve(all->size());
  nested.parent.reserve(all->size());
  std::vector<SpanIndex> stack;
  for (const Closed& span : *all) {
    while (!stack.empty() && nested.end_ns[stack.back()] <= span.begin) stack.pop_back();
    int64_t end = span.end;
    if (!stack.empty() && end > nested.end_ns[stack.back()]) {
      end = nested.end_ns[stack.back()];
      ++track_.clamped;
    }
    nested.parent.push_back(stack.empty() ? kNoSpan : stack.back());
    stack.push_back(static_cast<SpanIndex>(nested.size()));
    nested.begin_ns.push_back(span.begin);
    nested.end_ns.push_back(end);
    nested.name.push_back(span.name);
  }
  track_.spans = std::move(nested);
}

void TrackBuilder::Remap(const std::vector<SpanIndex>& opened,
                         const std::vector<SpanIndex>& closed) {
  for (SpanIndex& span : track_.args.span) span = opened[span];
  for (size_t i = 0; i < closed_args_.size(); ++i) {
    Append(&track_.args, closed[closed_args_.span[i]], closed_args_.key[i], closed_args_.value[i],
           closed_args_.text[i]);
  }
  closed_args_ = {};
  closed_.clear();
  for (FlowEnd& end : flows_) {
    end.span = end.span != kNoSpan ? opened[end.span] : InnermostAt(track_.spans, end.at_ns);
  }
  for (StepMark& mark : steps_) mark.span = mark.closed ? closed[mark.span] : opened[mark.span];
  std::sort(steps_.begin(), steps_.end(),
            [](const StepMark& a, const StepMark& b) { return a.span < b.span; });
}

}  // namespace crosscut::trace
