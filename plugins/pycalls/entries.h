// The thunks: one machine-code stub per patched entry, all in this module's text, so that no page
// has to be both written and run.
//
// A stub loads its index into the register of a sixth integer argument and jumps to Call(), which
// marks begin, calls the original with the other five and marks end. Every calling convention of
// CPython's method tables and type slots passes at most five integer arguments in registers and
// returns one integer, so one shape of stub serves all; registers that a convention does not use
// are handed through unread.
#pragma once

#include <cstdint>

namespace crosscut::pycalls {

inline constexpr uint32_t kMaxEntries = 16384;

// What Call() needs of an entry. Written under the GIL before its stub is put anywhere; stays for
// the life of the process, because a stub may be in flight or copied into a type made meanwhile.
struct Entry {
  void* original;
  uint32_t name;   // interned name of the span
  uint32_t state;  // kHasExtra, kFresh
};
static_assert(sizeof(Entry) == 16);
inline constexpr uint32_t kHasExtra = 1;  // the entry's Extra says anything
inline constexpr uint32_t kFresh = 2;     // not called yet: see patches.h, "Switching"

// What few entries have besides.
struct Extra {
  // Which name a call goes by, from the entry's name and the call's first three arguments; 0: it is
  // not recorded. Null: the entry's.
  uint32_t (*choose)(uint32_t name, const uint64_t (&arguments)[3]);
  uint32_t operation;  // interned name of the operation around it, or 0
  bool callbacks;      // Python that runs below it is a span of its own (callbacks.h)
};

extern Entry g_entries[kMaxEntries];
extern Extra g_extras[kMaxEntries];

// The code address of entry `index`.
void* Stub(uint32_t index);
// The index of the entry whose stub `code` is, or -1.
int64_t StubIndex(const void* code);
// `code`, or what it stands for where it is one of our stubs.
inline void* Original(void* code) {
  const int64_t index = StubIndex(code);
  return index < 0 ? code : g_entries[index].original;
}

}  // namespace crosscut::pycalls
