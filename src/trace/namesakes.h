// For a walk over all spans of a track in their order: which of them lie inside an open one of the
// same key (a name, a table's row). Only the outermost of a key adds to its inclusive time. So an
// instant counts once, however deep a function calls itself, directly or through others.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

class Namesakes {
 public:
  static constexpr uint32_t kNoKey = UINT32_MAX;

  Namesakes() = default;
  explicit Namesakes(const Spans& spans) : spans_(&spans) {}

  // Goes on with the first span of `spans`, which must live as long as it is asked about them. What
  // it keeps by key it makes once for all tracks.
  void Begin(const Spans& spans) {
    while (!open_.empty()) Leave();
    spans_ = &spans;
    keyed_around_ = kNoSpan;
  }

  // The innermost span of that key around `span`; kNoSpan where there is none, and for kNoKey.
  // Requires: it is called for each span once, in their order; keys are small numbers. Amortised
  // O(1) time; memory depends on the depth and the largest key.
  SpanIndex Enter(SpanIndex span, uint32_t key) {
    while (!open_.empty() && open_.back().span != spans_->parent[span]) Leave();
    keyed_around_ = open_.empty() ? kNoSpan : open_.back().keyed;
    SpanIndex around = kNoSpan;
    if (key != kNoKey) {
      if (key >= innermost_.size()) innermost_.resize(size_t{key} + 1, kNoSpan);
      around = innermost_[key];
      innermost_[key] = span;
    }
    open_.push_back({span, key, around, key == kNoKey ? keyed_around_ : span});
    return around;
  }
  // The innermost span of any key around the one entered last.
  SpanIndex KeyedAround() const { return keyed_around_; }
  // The innermost span of that key around the one entered last, or that one itself.
  SpanIndex Innermost(uint32_t key) const {
    return key < innermost_.size() ? innermost_[key] : kNoSpan;
  }

 private:
  struct Open {
    SpanIndex span;
    uint32_t key;
    SpanIndex around;  // of its key
    SpanIndex keyed;   // itself where it has a key, else the innermost around it that has one
  };

  void Leave() {
    if (open_.back().key != kNoKey) innermost_[open_.back().key] = open_.back().around;
    open_.pop_back();
  }

  const Spans* spans_ = nullptr;
  std::vector<SpanIndex> innermost_;  // by key: the innermost open one
  std::vector<Open> open_;
  SpanIndex keyed_around_ = kNoSpan;
};

}  // namespace crosscut::trace
