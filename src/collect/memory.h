// Anonymous memory of the recording half: counted against the session's cap, never malloc'ed, so
// that a program's allocator hooks may record and a failed allocation is a null pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::record {

inline constexpr size_t kPageBytes = 4096;

// Zeroed pages, or null. With `wipe_on_fork` they read 0 in forked and raw-cloned children.
void* MapPages(size_t bytes, bool wipe_on_fork = false);
void UnmapPages(void* memory, size_t bytes);
// Bytes mapped now by MapPages in this process.
size_t MappedBytes();

}  // namespace crosscut::record
