/* What starting a program takes longer because of this library, measured where it is asked for:
 * nobody starts a program for that in a process of others. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "obstacle.h"

#define INTERPOSES __attribute__((visibility("default")))

enum { kRounds = 15, kLow = 2, kMiddle = 7, kHigh = 12 };

/* How many times as long as what is timed a start takes, and how far from that it may be. A look:
 * the environment is read and copied as well, and along PATH some files are not there; 2 times
 * without any of these, 4.5 with eight. A load: likewise, and there are the symbols of the program,
 * which are searched for in the library, what it does when it is loaded, and the end of the
 * process; 1.5 to 2 times in sh, true and perl. */
static const double kLooks = 2.5, kLooksSpread = 2, kLoads = 1.8, kLoadsSpread = 1.6;

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- The library once more --------------------------------------------------------------------
 * As the loader maps it into a program that has it, and as it is used there: of each segment every
 * page is read, or written where it may be. */
struct Mapping {
  char* base;
  uintptr_t bytes, page;
  int fd;
};

static uintptr_t Down(const struct Mapping* to, uintptr_t address) {
  return address & ~(to->page - 1);
}
static uintptr_t Up(const struct Mapping* to, uintptr_t address) {
  return Down(to, address + to->page - 1);
}

static int MapAt(const struct Mapping* to, uintptr_t begin, uintptr_t end, int fd,
                 uint64_t offset) {
  const int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);
  return mmap(to->base + begin, end - begin, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset) !=
         MAP_FAILED;
}

static int MapSegment(const struct Mapping* to, const ElfW(Phdr) * segment) {
  const int writable = (segment->p_flags & PF_W) != 0;
  const uintptr_t begin = Down(to, segment->p_vaddr);
  const uintptr_t end = Up(to, segment->p_vaddr + segment->p_filesz);
  const uintptr_t whole = Up(to, segment->p_vaddr + segment->p_memsz);
  if (begin != 0 && !MapAt(to, begin, end, to->fd, Down(to, segment->p_offset))) return 0;
  if (whole != end && !MapAt(to, end, whole, -1, 0)) return 0;
  for (uintptr_t at = begin; at < end; at += to->page) {
    volatile char* byte = to->base + at;
    const char value = *byte;
    if (writable) *byte = value;
  }
  if (whole != end) *(volatile char*)(to->base + end) = 1;
  return 1;
}

static int MapSegments(const struct Mapping* to, const ElfW(Phdr) * segments) {
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD && !MapSegment(to, &segments[i])) return 0;
    if (segments[i].p_type == PT_GNU_RELRO) {
      const uintptr_t begin = Down(to, segments[i].p_vaddr);
      mprotect(to->base + begin, Up(to, segments[i].p_vaddr + segments[i].p_memsz) - begin,
               PROT_READ);
    }
  }
  return 1;
}

static int LoadOnce(void) {
  const ElfW(Phdr)* segments = (const void*)((const char*)&__ehdr_start + __ehdr_start.e_phoff);
  struct Mapping to = {MAP_FAILED, 0, (uintptr_t)sysconf(_SC_PAGESIZE), -1};
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    to.bytes = Up(&to, segments[i].p_vaddr + segments[i].p_memsz);
  }
  to.fd = open(OwnPath(), O_RDONLY | O_CLOEXEC);
  struct stat facts;
  char head[832]; /* as much as the loader reads */
  int done = to.fd >= 0 && read(to.fd, head, sizeof head) > 0 && fstat(to.fd, &facts) == 0;
  if (done) to.base = mmap(NULL, to.bytes, PROT_READ, MAP_PRIVATE, to.fd, 0);
  done = to.base != MAP_FAILED && MapSegments(&to, segments);
  if (to.base != MAP_FAILED) munmap(to.base, to.bytes);
  if (to.fd >= 0) close(to.fd);
  return done;
}

/* ---- Costs ------------------------------------------------------------------------------------*/

static int Ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void Sorted(double rounds[kRounds], double by, double wide, double costs[3]) {
  qsort(rounds, kRounds, sizeof *rounds, Ascending);
  costs[0] = rounds[kMiddle] * by;
  costs[1] = rounds[kLow] * by / wide;
  costs[2] = rounds[kHigh] * by * wide;
}

/* For src/runtime/starts.cc: what a start takes longer without this library in the program, and
 * with it; of each the middle, the low and the high bound in ns. 0 where it cannot be told. */
INTERPOSES int crosscut_preload_costs(double costs[2][3]) {
  double looks[kRounds], loads[kRounds];
  struct Room* room = malloc(sizeof *room);
  int done = room != NULL && *OwnPath() != '\0';
  for (int i = 0; i < kRounds && done; ++i) {
    const double begin = NowNs();
    (void)ObstacleOfFile(AT_FDCWD, OwnPath(), OwnPath(), room);
    const double looked = NowNs();
    done = LoadOnce();
    looks[i] = looked - begin;
    loads[i] = NowNs() - begin;
  }
  free(room);
  if (!done) return 0;
  Sorted(looks, kLooks, kLooksSpread, costs[0]);
  Sorted(loads, kLoads, kLoadsSpread, costs[1]);
  return 1;
}
