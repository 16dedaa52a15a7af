// A disk that is slow, that stalls, that is full for a while, and memory that cannot be had: the
// program's own write() and mmap(), by --wrap of the linker.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/stress/actors.h"

namespace crosscut::stress {
namespace {

uint64_t write_us = 0;  // atomic: how long each takes
int full = 0;           // atomic
int mappings_left = 0;  // atomic: the one that counts to 0 fails

// The log's writer: nobody else's files are slow.
bool IsDrain() {
  static thread_local int is = 0;
  if (is == 0) {
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    is = strcmp(name, "crosscut-drain") == 0 ? 2 : 1;
  }
  return is == 2;
}

}  // namespace

void FailMappings(int nth) { __atomic_store_n(&mappings_left, nth, __ATOMIC_SEQ_CST); }

void WorksTheDisk(uint64_t seed) {
  Marker marker("disk");
  Random random(seed);
  for (bool first = true; !Stopped(); first = false) {
    Nap(random.Below(200'000));
    uint64_t us = 100'000 + random.Below(200'000);
    if (the_cast.disk == Disk::kSlow) __atomic_store_n(&write_us, 8000, __ATOMIC_SEQ_CST);
    if (the_cast.disk == Disk::kFull) __atomic_store_n(&full, 1, __ATOMIC_SEQ_CST);
    if (the_cast.disk == Disk::kStalls && first) {
      us = 3'000'000;
      __atomic_store_n(&write_us, us, __ATOMIC_SEQ_CST);
    }
    for (uint64_t slept = 0; slept < us && !Stopped(); slept += 1000) Nap(1000), marker.Tick("bad");
    __atomic_store_n(&write_us, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&full, 0, __ATOMIC_SEQ_CST);
    marker.Tick("good");
  }
}

}  // namespace crosscut::stress

extern "C" {

ssize_t __real_write(int fd, const void* bytes, size_t size);
ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  using namespace crosscut::stress;
  if (!IsDrain()) return __real_write(fd, bytes, size);
  for (uint64_t slept = 0; slept < __atomic_load_n(&write_us, __ATOMIC_SEQ_CST); slept += 1000) {
    Nap(1000);
  }
  if (__atomic_load_n(&full, __ATOMIC_SEQ_CST) != 0) {
    errno = ENOSPC;
    return -1;
  }
  return __real_write(fd, bytes, size);
}

void* __real_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  using crosscut::stress::mappings_left;
  const bool counts = fd == -1 && __atomic_load_n(&mappings_left, __ATOMIC_SEQ_CST) > 0;
  if (counts && __atomic_sub_fetch(&mappings_left, 1, __ATOMIC_SEQ_CST) == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(at, bytes, protection, flags, fd, offset);
}

}  // extern "C"
