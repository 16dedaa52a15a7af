#include "src/collect/hidden_spans.h"

namespace crosscut::record {
namespace {

constexpr uint32_t kDeepestHidden = 2000;  // so that the repair fits in a chunk

void Forget(ThreadState* s, uint32_t i) {
  for (uint32_t k = i + 1; k < s->hidden_depth; ++k) s->hidden[k - 1] = s->hidden[k];
  const uint64_t below = (uint64_t{1} << i) - 1;
  s->hidden_lost = (s->hidden_lost & below) | (s->hidden_lost >> 1 & ~below);
  --s->hidden_depth;
}

// The same rules as for readers: a plain end passes by what ends by name.
bool HideEnd(ThreadState* s, const SessionStream& names) {
  uint32_t i = s->hidden_depth;
  if (i > kHiddenNames) {  // what lies so deep is not known
    --s->hidden_depth;
    return true;
  }
  while (i > 0 && format::EndsByName(names.KindOf(s->hidden[i - 1]))) --i;
  if (i == 0) return false;
  Forget(s, i - 1);
  return true;
}

bool HideEndNamed(ThreadState* s, const SessionStream& names, uint64_t name) {
  const format::NameAttributes ended = names.KindOf(name);
  const auto ends = [&](uint32_t hidden) {
    return !format::GoesOnAbove(ended, names.KindOf(hidden));
  };
  if (s->hidden_depth > kHiddenNames) s->hidden_depth = kHiddenNames;
  uint32_t found = s->hidden_depth;
  while (found > 0 && s->hidden[found - 1] != name) --found;
  // None of that name: it ends a span below all of these.
  for (uint32_t i = s->hidden_depth; i-- > found;) {
    if (ends(s->hidden[i])) Forget(s, i);
  }
  if (found == 0) return false;
  Forget(s, found - 1);
  return true;
}

}  // namespace

bool BeginsSpan(uint64_t code) {
  return code >= format::kFirstNameCode || code == format::kBeginWide;
}

bool Hide(ThreadState* s, const SessionStream& names, uint64_t code, const uint64_t* payload) {
  if (BeginsSpan(code)) {
    const auto name = static_cast<uint32_t>(code == format::kBeginWide ? payload[0] : code);
    if (s->hidden_depth == 0) SetOnTick(s, 0);
    if (s->hidden_depth < kHiddenNames) {
      s->hidden[s->hidden_depth] = name;
      s->hidden_lost &= ~(uint64_t{1} << s->hidden_depth);
    }
    if (++s->hidden_depth < kDeepestHidden) return true;
    s->hidden_depth = 0;
    s->stack_lost = true;
    s->announce = true;
    return true;
  }
  if (code == format::kEnd) return HideEnd(s, names);
  return code == format::kEndNamed ? HideEndNamed(s, names, payload[0]) : code != format::kBase;
}

}  // namespace crosscut::record
