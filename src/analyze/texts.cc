#include "src/analyze/texts.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace crosscut::analyze {

void Texts::push_back(std::string_view text) {
  if (!codes_.empty() && distinct_[codes_.back()] == text) {  // rows of one process, of one kind
    codes_.push_back(codes_.back());
    return;
  }
  if (distinct_.size() * 2 >= slots_.size()) Grow();
  uint32_t& slot = slots_[SlotOf(text)];
  if (slot == 0) {
    distinct_.emplace_back(text);
    slot = static_cast<uint32_t>(distinct_.size());
  }
  codes_.push_back(slot - 1);
}

// The slot that holds the text, or the free one where it belongs.
size_t Texts::SlotOf(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t at = std::hash<std::string_view>()(text) & mask;
  while (slots_[at] != 0 && distinct_[slots_[at] - 1] != text) at = (at + 1) & mask;
  return at;
}

void Texts::Grow() {
  slots_.assign(std::max<size_t>(16, std::bit_ceil(distinct_.size() * 4)), 0);
  for (uint32_t code = 0; code < distinct_.size(); ++code) {
    slots_[SlotOf(distinct_[code])] = code + 1;
  }
}

void Texts::ShrinkToFit() {
  distinct_.shrink_to_fit();
  codes_.shrink_to_fit();
  slots_ = {};
}

}  // namespace crosscut::analyze
