// The long columns of a trace: vectors whose memory the system can take back.
//
// Up to a limit they stand in ordinary memory. What is beyond goes to mapped files without a name:
// when memory is short, the kernel writes their pages out and reads them back on access, so a trace
// may be larger than the machine's memory. The files are in $TMPDIR, else in /var/tmp. If neither
// can hold one (full, or itself in memory), the column stays in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::trace {

// The limit in bytes for all columns of the process: a quarter of the machine's memory, or
// CROSSCUT_READ_MEMORY mebibytes.
size_t ColumnLimit();
// What all columns hold now, in bytes: in ordinary memory, and in files. Blocks below a mebibyte
// are not counted.
struct ColumnUse {
  size_t memory, files;
};
ColumnUse ColumnsInUse();

// Throws std::bad_alloc. Thread-safe. FreeColumn needs the `bytes` that were requested.
void* AllocateColumn(size_t bytes);
void FreeColumn(void* at, size_t bytes) noexcept;

template <class T>
struct ColumnAllocator {
  using value_type = T;
  ColumnAllocator() = default;
  template <class U>
  ColumnAllocator(const ColumnAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(size_t n) { return static_cast<T*>(AllocateColumn(n * sizeof(T))); }
  void deallocate(T* at, size_t n) noexcept { FreeColumn(at, n * sizeof(T)); }
  friend bool operator==(const ColumnAllocator&, const ColumnAllocator&) { return true; }
};

template <class T>
using Column = std::vector<T, ColumnAllocator<T>>;

}  // namespace crosscut::trace
