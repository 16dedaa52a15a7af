#include "call_sites.h"

#include <cstdlib>

namespace crosscut::pycalls {
namespace {

struct Slot {
  uint64_t call;  // caller and callee; 0: free
  int32_t instruction;
  uint32_t name;
};
static_assert(sizeof(Slot) == 16);

Slot* g_slots = nullptr;
uint32_t g_mask = 0, g_used = 0;

uint64_t CallOf(const CallSite& site) { return uint64_t{site.caller} << 32 | site.callee; }

Slot* Place(Slot* slots, uint32_t mask, uint64_t call, int32_t instruction) {
  uint64_t hash = (call ^ static_cast<uint64_t>(instruction) << 17) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  for (auto at = static_cast<uint32_t>(hash);; ++at) {
    Slot& slot = slots[at & mask];
    if (slot.call == 0 || (slot.call == call && slot.instruction == instruction)) return &slot;
  }
}

bool Grow() {
  const uint32_t size = g_slots == nullptr ? 1024 : 2 * (g_mask + 1);
  auto* slots = static_cast<Slot*>(std::calloc(size, sizeof(Slot)));
  if (slots == nullptr) return false;
  for (uint32_t i = 0; g_slots != nullptr && i <= g_mask; ++i) {
    const Slot& slot = g_slots[i];
    if (slot.call != 0) *Place(slots, size - 1, slot.call, slot.instruction) = slot;
  }
  std::free(g_slots);
  g_slots = slots;
  g_mask = size - 1;
  return true;
}

}  // namespace

uint32_t FindSite(const CallSite& site) {
  if (__builtin_expect(g_slots == nullptr, 0)) return 0;
  return Place(g_slots, g_mask, CallOf(site), site.instruction)->name;
}

uint32_t AddSite(const CallSite& site, PyCodeObject* code, const Callee& callee) {
  if (g_used >= kMostSites) return site.callee;
  if ((g_slots == nullptr || 2 * (g_used + 1) > g_mask) && !Grow()) return site.callee;
  const int line = PyCode_Addr2Line(code, site.instruction);
  uint32_t name = site.callee;
  if (line > 0) {
    const std::string text = callee.text + "@" + std::to_string(line);
    name = crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, callee.layer,
                           callee.flags | CROSSCUT_CALLED_AT, callee.probe);
    if (name == 0) name = site.callee;
  }
  *Place(g_slots, g_mask, CallOf(site), site.instruction) = {CallOf(site), site.instruction, name};
  ++g_used;
  return name;
}

}  // namespace crosscut::pycalls
