// Names of calls by the line that makes them, so that a span says at no cost in the ring from where
// it was called: "forward (model.py:12)@41" (CROSSCUT_CALLED_AT).
//
// A table from (calling code, instruction, what is called) to the name; full at kMostSites, from
// where on new places get the plain name. Memory: at most 2 MiB. Under the GIL.
#pragma once

#include <cstdint>
#include <string>

#include "crosscut/crosscut.h"
#include "python.h"

namespace crosscut::pycalls {

struct CallSite {
  uint32_t caller;      // number of the calling code object, never 0
  int32_t instruction;  // in it
  uint32_t callee;      // the plain name
};

inline constexpr uint32_t kMostSites = 1 << 15;

// The table, open to FindSite alone: it stands on the path of every call.
struct SiteSlot {
  uint64_t call;  // caller and callee; 0: free
  int32_t instruction;
  uint32_t name;
};
static_assert(sizeof(SiteSlot) == 16);
extern SiteSlot* g_site_slots;  // null: none yet
extern uint32_t g_site_mask;

inline uint64_t CallOf(const CallSite& site) { return uint64_t{site.caller} << 32 | site.callee; }

// Where the site is, or would be.
inline SiteSlot* PlaceOf(SiteSlot* slots, uint32_t mask, uint64_t call, int32_t instruction) {
  uint64_t hash = (call ^ static_cast<uint64_t>(instruction) << 17) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  for (auto at = static_cast<uint32_t>(hash);; ++at) {
    SiteSlot& slot = slots[at & mask];
    if (slot.call == 0 || (slot.call == call && slot.instruction == instruction)) return &slot;
  }
}

// 0 where the place is new.
inline uint32_t FindSite(const CallSite& site) {
  if (__builtin_expect(g_site_slots == nullptr, 0)) return 0;
  return PlaceOf(g_site_slots, g_site_mask, CallOf(site), site.instruction)->name;
}

// What is called, as it was interned.
struct Callee {
  std::string text;
  crosscut_layer layer;
  unsigned flags;
  uint32_t probe;
};
// The name for a new place. The plain one where there is no room, or `code`, the caller's, has no
// line there.
uint32_t AddSite(const CallSite& site, PyCodeObject* code, const Callee& callee);

}  // namespace crosscut::pycalls
