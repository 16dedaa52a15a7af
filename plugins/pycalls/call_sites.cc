#include "call_sites.h"

#include <cstdlib>

namespace crosscut::pycalls {

SiteSlot* g_site_slots = nullptr;
uint32_t g_site_mask = 0;

namespace {

uint32_t g_used = 0;

bool Grow() {
  const uint32_t size = g_site_slots == nullptr ? 1024 : 2 * (g_site_mask + 1);
  auto* slots = static_cast<SiteSlot*>(std::calloc(size, sizeof(SiteSlot)));
  if (slots == nullptr) return false;
  for (uint32_t i = 0; g_site_slots != nullptr && i <= g_site_mask; ++i) {
    const SiteSlot& slot = g_site_slots[i];
    if (slot.call != 0) *PlaceOf(slots, size - 1, slot.call, slot.instruction) = slot;
  }
  std::free(g_site_slots);
  g_site_slots = slots;
  g_site_mask = size - 1;
  return true;
}

}  // namespace

uint32_t AddSite(const CallSite& site, PyCodeObject* code, const Callee& callee) {
  if (g_used >= kMostSites) return site.callee;
  if ((g_site_slots == nullptr || 2 * (g_used + 1) > g_site_mask) && !Grow()) return site.callee;
  const int line = PyCode_Addr2Line(code, site.instruction);
  uint32_t name = site.callee;
  if (line > 0) {
    const std::string text = callee.text + "@" + std::to_string(line);
    name = crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, callee.layer,
                           callee.flags | CROSSCUT_CALLED_AT, callee.probe);
    if (name == 0) name = site.callee;
  }
  *PlaceOf(g_site_slots, g_site_mask, CallOf(site), site.instruction) = {CallOf(site),
                                                                         site.instruction, name};
  ++g_used;
  return name;
}

}  // namespace crosscut::pycalls
