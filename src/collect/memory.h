// Anonymous memory of the recording half: counted against the session's cap, never malloc'ed, so
// that a program's allocator hooks may record and a failed allocation is a null pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::record {

// No less than a page of any kernel for this processor: what is to be wiped in children begins and
// ends with one. Kernels for arm64 have pages of 4, 16 or 64 KiB.
#if defined(__x86_64__)
inline constexpr size_t kPageBytes = 4 << 10;
#else
inline constexpr size_t kPageBytes = 64 << 10;
#endif

// Zeroed pages, or null. With `wipe_on_fork` they read 0 in forked and raw-cloned children, from
// their first instruction on, and stay mapped there (slow_path.h, The fork page). Not where the
// kernel cannot wipe, nor in a child that shares the parent's memory (vfork).
void* MapPages(size_t bytes, bool wipe_on_fork = false);
void UnmapPages(void* memory, size_t bytes);
// Bytes mapped now by MapPages in this process.
size_t MappedBytes();

}  // namespace crosscut::record
