#include "src/collect/memory.h"

#include <sys/mman.h>

#include <atomic>

#include "src/base/fault_point.h"

namespace crosscut::record {
namespace {
std::atomic<size_t> mapped{0};  // a sum that publishes nothing, so relaxed: all -> MappedBytes()
size_t RoundUp(size_t bytes) { return (bytes + kPageBytes - 1) & ~(kPageBytes - 1); }
}  // namespace

void* MapPages(size_t bytes, bool wipe_on_fork) {
  if (CROSSCUT_FAULT("memory.map")) return nullptr;
  bytes = RoundUp(bytes);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (wipe_on_fork) (void)madvise(memory, bytes, MADV_WIPEONFORK);
  mapped.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

void UnmapPages(void* memory, size_t bytes) {
  if (memory == nullptr) return;
  bytes = RoundUp(bytes);
  munmap(memory, bytes);
  mapped.fetch_sub(bytes, std::memory_order_relaxed);
}

size_t MappedBytes() { return mapped.load(std::memory_order_relaxed); }

}  // namespace crosscut::record
