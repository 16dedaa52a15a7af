#include "src/trace/column.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <initializer_list>
#include <mutex>
#include <new>
#include <unordered_set>

namespace crosscut::trace {
namespace {

// Below this a block is malloc's business.
constexpr size_t kLarge = size_t{1} << 20;

struct Use {
  std::mutex mutex;
  ColumnUse bytes{0, 0};
  std::unordered_set<void*> in_files;
};
Use& TheUse() {
  static Use* const use = new Use;  // outlives every static trace
  return *use;
}

// A descriptor of `bytes` of disk that nobody can take any more; -1 where there are none.
int OpenFileOf(size_t bytes) {
  const char* chosen = getenv("TMPDIR");
  for (const char* folder : {chosen, "/var/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    struct statfs facts;
    if (statfs(folder, &facts) != 0 || facts.f_type == TMPFS_MAGIC) continue;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    // A page that finds no room when it is written would be a SIGBUS.
    if (posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0) return fd;
    close(fd);
  }
  return -1;
}

void* MapFile(size_t bytes) {
  const int fd = OpenFileOf(bytes);
  if (fd < 0) return MAP_FAILED;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at;
}

}  // namespace

size_t ColumnLimit() {
  const char* set = getenv("CROSSCUT_READ_MEMORY");
  if (set != nullptr && *set != '\0') return static_cast<size_t>(strtoull(set, nullptr, 10)) << 20;
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) /
         4;
}

ColumnUse ColumnsInUse() {
  Use& use = TheUse();
  const std::lock_guard lock(use.mutex);
  return use.bytes;
}

void* AllocateColumn(size_t bytes) {
  if (bytes < kLarge) return ::operator new(bytes);
  Use& use = TheUse();
  const std::lock_guard lock(use.mutex);
  if (use.bytes.memory + bytes > ColumnLimit()) {
    if (void* at = MapFile(bytes); at != MAP_FAILED) {
      use.in_files.insert(at);
      use.bytes.files += bytes;
      return at;
    }
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  madvise(at, bytes, MADV_HUGEPAGE);  // a fifth of the faults' price
  use.bytes.memory += bytes;
  return at;
}

void FreeColumn(void* at, size_t bytes) noexcept {
  if (bytes < kLarge) return ::operator delete(at);
  Use& use = TheUse();
  const std::lock_guard lock(use.mutex);
  (use.in_files.erase(at) != 0 ? use.bytes.files : use.bytes.memory) -= bytes;
  munmap(at, bytes);
}

}  // namespace crosscut::trace
