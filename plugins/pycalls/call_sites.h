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

// 0 where the place is new.
uint32_t FindSite(const CallSite& site);

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
