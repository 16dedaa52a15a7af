#include "modules.h"

#include <cstdlib>

namespace crosscut::modules {

uint32_t Names::Ask(void* module) { return namer_ == nullptr ? 0 : namer_(module); }

bool Names::Grow() {
  if (2 * (used_ + 1) <= size_) return true;
  const size_t larger = size_ == 0 ? 256 : 2 * size_;
  auto* slots = static_cast<Slot*>(calloc(larger, sizeof(Slot)));
  if (slots == nullptr) return false;
  Slot* const before = slots_;
  const size_t size = size_;
  slots_ = slots;
  size_ = larger;
  used_ = 0;
  for (size_t i = 0; i < size; ++i) {
    if (before[i].module != nullptr) Enter(before[i].module, before[i].name);
  }
  free(before);
  return true;
}

void Names::Enter(void* module, uint32_t name) {
  if (!Grow()) return;
  size_t at = Home(module);
  while (slots_[at].module != nullptr && slots_[at].module != module) at = (at + 1) & (size_ - 1);
  used_ += slots_[at].module == nullptr ? 1 : 0;
  slots_[at] = {module, name};
}

// Those behind it move up, so that a search ends at the first free slot.
void Names::Forget(void* module) {
  if (size_ == 0) return;
  const size_t mask = size_ - 1;
  size_t at = Home(module);
  while (slots_[at].module != module) {
    if (slots_[at].module == nullptr) return;
    at = (at + 1) & mask;
  }
  for (size_t next = (at + 1) & mask; slots_[next].module != nullptr; next = (next + 1) & mask) {
    const size_t home = Home(slots_[next].module);
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    slots_[at] = slots_[next];
    at = next;
  }
  slots_[at] = {};
  --used_;
}

}  // namespace crosscut::modules
