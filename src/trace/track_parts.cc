// Which earlier span each one goes on with that was ended and began again.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

// What is left of a row of places, from which some are taken. Near O(1) a call.
class Left {
 public:
  explicit Left(size_t size) : next_(size + 1) { std::iota(next_.begin(), next_.end(), 0); }
  // The first one that is left from `at` on; the size where none is.
  size_t From(size_t at) {
    while (next_[at] != at) at = next_[at] = next_[next_[at]];
    return at;
  }
  void Take(size_t at) { next_[at] = at + 1; }

 private:
  std::vector<size_t> next_;  // itself where it is left, else one behind it
};

// The spans of one name that ended, in order of end: outer ones first.
class Parts {
 public:
  Parts(const Spans& spans, std::vector<SpanIndex> ended)
      : spans_(spans), all_(std::move(ended)), inner_(all_.size()), outer_(all_.size()) {
    std::sort(all_.begin(), all_.end(), [this](SpanIndex a, SpanIndex b) {
      return std::tuple(spans_.end_ns[a], a) < std::tuple(spans_.end_ns[b], b);
    });
    settled_.push_back(0);
    for (size_t i = 0; i < all_.size(); ++i) {
      (EndedWithParent(all_[i]) ? outer_ : inner_).Take(i);
      settled_.push_back(BeganAgain(all_[i]) ? settled_[i] : i + 1);
    }
  }

  void Take(SpanIndex part) {
    const size_t at = Place(spans_.end_ns[part], part);
    if (at < all_.size() && all_[at] == part) TakeAt(at);
  }
  // TrackBuilder::GoesOnWith.
  SpanIndex Told(int64_t ended, uint32_t inside, SpanIndex span) const {
    const size_t later = settled_[Place(ended, kNoSpan)];
    if (inside >= later) return kNoSpan;
    const SpanIndex part = all_[later - 1 - inside];
    const bool waits = part < span && ended <= spans_.begin_ns[span];
    return waits && spans_.end_ns[part] == ended ? part : kNoSpan;
  }
  // The outermost of those inside `outer` that ended together with it.
  SpanIndex Inside(SpanIndex outer, SpanIndex span) {
    const int64_t ended = spans_.end_ns[outer];
    const size_t at = inner_.From(Place(ended, outer + 1));
    if (at == all_.size() || spans_.end_ns[all_[at]] != ended || all_[at] >= span) return kNoSpan;
    return all_[at];
  }
  // What has waited longest when `span` begins, of those that ended by themselves or else of all.
  SpanIndex Longest(SpanIndex span, int64_t* guessed) {
    for (Left* left : {&outer_, &inner_}) {
      const size_t at = left->From(0);
      if (!Waits(at, span)) continue;
      *guessed += Waits(left->From(at + 1), span) ? 1 : 0;
      return all_[at];
    }
    return kNoSpan;
  }

 private:
  size_t Place(int64_t ended, SpanIndex from) const {
    const auto at = std::lower_bound(all_.begin(), all_.end(), std::tuple(ended, from),
                                     [this](SpanIndex part, const auto& key) {
                                       return std::tuple(spans_.end_ns[part], part) < key;
                                     });
    return static_cast<size_t>(at - all_.begin());
  }
  void TakeAt(size_t at) {
    inner_.Take(at);
    outer_.Take(at);
  }
  bool Waits(size_t at, SpanIndex span) const {
    return at < all_.size() && all_[at] < span && spans_.end_ns[all_[at]] <= spans_.begin_ns[span];
  }
  // And ended at once.
  bool BeganAgain(SpanIndex span) const {
    return spans_.begin_ns[span] == spans_.end_ns[span] &&
           std::binary_search(spans_.continued.begin(), spans_.continued.end(), span);
  }
  bool EndedWithParent(SpanIndex part) const {
    const SpanIndex parent = spans_.parent[part];
    return parent != kNoSpan && spans_.end_ns[parent] == spans_.end_ns[part];
  }

  const Spans& spans_;
  std::vector<SpanIndex> all_;
  std::vector<size_t> settled_;  // of so many of all_, without the last ones that BeganAgain
  Left inner_, outer_;  // of all_: those that ended with what was around them, and the others
};

}  // namespace

void TrackBuilder::GoesOnWith(int64_t ended, uint32_t inside) {
  const std::vector<SpanIndex>& continued = track_.spans.continued;
  if (continued.empty() || last_ != Target::kSpan || continued.back() + 1 != track_.spans.size()) {
    return;
  }
  told_.push_back({continued.size() - 1, ended, inside});
}

void TrackBuilder::FindParts() {
  Spans& spans = track_.spans;
  std::vector<SpanIndex>& before = spans.parts_before;
  if (std::find(before.begin(), before.end(), kNoSpan) == before.end()) return;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> place(names_->size(), kNone);  // of those that go on, by name
  std::vector<std::vector<SpanIndex>> ended;
  for (const SpanIndex span : spans.continued) {
    uint32_t& at = place[spans.name[span].value];
    if (at != kNone) continue;
    at = static_cast<uint32_t>(ended.size());
    ended.emplace_back();
  }
  for (SpanIndex i = 0; i < spans.size(); ++i) {
    const uint32_t at = place[spans.name[i].value];
    if (at == kNone || std::binary_search(open_.begin(), open_.end(), i)) continue;
    ended[at].push_back(i);
  }
  std::vector<Parts> parts;
  parts.reserve(ended.size());
  for (std::vector<SpanIndex>& of_name : ended) parts.emplace_back(spans, std::move(of_name));
  const auto parts_of = [&](SpanIndex span) -> Parts& {
    return parts[place[spans.name[span].value]];
  };
  const auto goes_on_with = [&](size_t i, SpanIndex part) {
    before[i] = part;
    if (part != kNoSpan) parts_of(part).Take(part);
  };
  for (size_t i = 0; i < before.size(); ++i) goes_on_with(i, before[i]);
  for (const Told& told : std::exchange(told_, {})) {
    const SpanIndex span = spans.continued[told.which];
    goes_on_with(told.which, parts_of(span).Told(told.ended, told.inside, span));
  }
  // In order, so that what a span goes on with is known before that of those inside it.
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != kNoSpan) continue;
    const SpanIndex span = spans.continued[i];
    const SpanIndex outer = PartBefore(spans.parent[span]);
    SpanIndex part = kNoSpan;
    if (outer != kNoSpan) part = parts_of(span).Inside(outer, span);
    if (part == kNoSpan) part = parts_of(span).Longest(span, &track_.guessed);
    goes_on_with(i, part);
  }
  DropThoseThatGoOnWithNothing();
}

// Such as those whose earlier parts were lost.
void TrackBuilder::DropThoseThatGoOnWithNothing() {
  Spans& spans = track_.spans;
  size_t kept = 0;
  for (size_t i = 0; i < spans.continued.size(); ++i) {
    if (spans.parts_before[i] == kNoSpan) continue;
    spans.continued[kept] = spans.continued[i];
    spans.parts_before[kept++] = spans.parts_before[i];
  }
  spans.continued.resize(kept);
  spans.parts_before.resize(kept);
}

SpanIndex TrackBuilder::PartBefore(SpanIndex span) const {
  const Spans& spans = track_.spans;
  const auto at = std::lower_bound(spans.continued.begin(), spans.continued.end(), span);
  if (at == spans.continued.end() || *at != span) return kNoSpan;
  return spans.parts_before[static_cast<size_t>(at - spans.continued.begin())];
}

}  // namespace crosscut::trace
