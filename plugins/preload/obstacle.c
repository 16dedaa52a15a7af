#define _GNU_SOURCE
#include "obstacle.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__x86_64__)
static const Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
static const Elf64_Half kMachine = EM_AARCH64;
#else
static const Elf64_Half kMachine = EM_NONE;
#endif

static const struct {
  const char *key, *text;
} kTexts[kObstacles] = {
    {"", ""},
    {"asan", "is built with AddressSanitizer, which refuses preloaded libraries"},
    {"tsan", "is built with ThreadSanitizer, which takes our library for the program's"},
    {"processor", "is for another processor"},
    {"loader", "is loaded by another C library's loader"},
    {"locks",
     "locks its memory (mlockall) under a limit (ulimit -l) that ours would count against"},
    {"thread", "calls unshare() or setns(), which may fail where a program has a thread of ours"},
    {"reach", "was started where our library cannot be read (another root, mounts or user)"},
};

const char* ObstacleKey(enum Obstacle obstacle) { return kTexts[obstacle].key; }
const char* ObstacleText(enum Obstacle obstacle) { return kTexts[obstacle].text; }

static int ReadAt(int fd, void* to, size_t bytes, uint64_t at) {
  return pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Names that a program refers to, each with the NUL before it and that behind it. */
struct Name {
  const char* text;
  size_t bytes;
  enum Obstacle tells;
};
/* Whose start the program calls, whether its library is linked in or loaded. */
static const struct Name kSanitizers[] = {{"\0__asan_init", 13, kAddressSanitizer},
                                          {"\0__tsan_init", 13, kThreadSanitizer},
                                          {NULL, 0, 0}};
static const struct Name kLocks[] = {{"\0mlockall", 10, kLocksMemory}, {NULL, 0, 0}};
static const struct Name kWantsOneThread[] = {
    {"\0unshare", 9, kOneThread}, {"\0setns", 7, kOneThread}, {NULL, 0, 0}};

static enum Obstacle NameIn(int fd, uint64_t at, uint64_t size, const struct Name* wanted) {
  enum { kBytes = 16384, kOverlap = 12, kBlock = kBytes - kOverlap };
  const uint64_t most = 64 << 20;
  enum Obstacle found = kNone;
  size_t kept = 0;
  char* block = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return kNone;
  if (size > most) size = most;
  for (uint64_t done = 0; done < size && found == kNone;) {
    const uint64_t left = size - done;
    const ssize_t got = pread(fd, block + kept, left < kBlock ? left : kBlock, (off_t)(at + done));
    if (got <= 0) break;
    done += (uint64_t)got;
    const size_t have = kept + (size_t)got;
    for (const struct Name* name = wanted; name->text != NULL && found == kNone; ++name) {
      if (memmem(block, have, name->text, name->bytes) != NULL) found = name->tells;
    }
    kept = have < kOverlap ? have : kOverlap;
    memmove(block, block + have - kept, kept);
  }
  munmap(block, kBytes);
  return found;
}

static int Segment(int fd, const Elf64_Ehdr* header, int i, Elf64_Phdr* segment) {
  return ReadAt(fd, segment, sizeof *segment, header->e_phoff + (uint64_t)i * sizeof *segment);
}

/* Where the file has what is at `address` when it runs; 0: nowhere. */
static uint64_t OffsetOf(int fd, const Elf64_Ehdr* header, uint64_t address) {
  Elf64_Phdr segment;
  for (int i = 0; i < header->e_phnum && Segment(fd, header, i, &segment); ++i) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return 0;
}

static enum Obstacle NameOfDynamic(int fd, const Elf64_Ehdr* header, const Elf64_Phdr* dynamic,
                                   const struct Name* wanted) {
  uint64_t strings = 0, size = 0;
  Elf64_Dyn entry;
  for (uint64_t at = 0; at + sizeof entry <= dynamic->p_filesz; at += sizeof entry) {
    if (!ReadAt(fd, &entry, sizeof entry, dynamic->p_offset + at) || entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  const uint64_t at = OffsetOf(fd, header, strings);
  return at == 0 ? kNone : NameIn(fd, at, size, wanted);
}

/* The GNU C library's loaders are all called ld-linux*, and only they can load what links to it. */
static int IsOurLoader(int fd, const Elf64_Phdr* segment) {
  char path[256];
  const size_t bytes = segment->p_filesz < sizeof path ? segment->p_filesz : sizeof path - 1;
  if (!ReadAt(fd, path, bytes, segment->p_offset)) return 1;
  path[bytes] = '\0';
  const char* slash = strrchr(path, '/');
  return strncmp(slash == NULL ? path : slash + 1, "ld-linux", 8) == 0;
}

static enum Obstacle ObstacleOfElf(int fd, const Elf64_Ehdr* header, const struct Name* wanted) {
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != kMachine) {
    return kOtherProcessor;
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr)) return kNone;
  enum Obstacle found = kNone;
  Elf64_Phdr segment;
  for (int i = 0; i < header->e_phnum && found == kNone; ++i) {
    if (!Segment(fd, header, i, &segment)) break;
    if (segment.p_type == PT_INTERP && !IsOurLoader(fd, &segment)) found = kOtherLoader;
    if (segment.p_type == PT_DYNAMIC) found = NameOfDynamic(fd, header, &segment, wanted);
  }
  return found;
}

/* Cuts a script's first line to the path of its interpreter; NULL where it has none. */
static char* InterpreterIn(char* line) {
  if (line[0] != '#' || line[1] != '!') return NULL;
  char* path = line + 2 + strspn(line + 2, " \t");
  path[strcspn(path, " \t\r\n")] = '\0';
  return *path == '\0' ? NULL : path;
}

static int CanBeRead(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT && errno != EACCES && errno != ENOTDIR;
  close(fd);
  return 1;
}

/* Closes each interpreter that it opens. */
static enum Obstacle ObstacleOfOpen(int fd) {
  enum { kMostScripts = 4 }; /* as the kernel */
  union {
    Elf64_Ehdr header;
    char line[256];
  } begin;
  for (int depth = 0, at = fd; at >= 0; ++depth) {
    memset(&begin, 0, sizeof begin);
    const int is_program = pread(at, &begin, sizeof begin - 1, 0) >= (ssize_t)4;
    const int is_elf = is_program && memcmp(begin.header.e_ident, ELFMAG, SELFMAG) == 0;
    const enum Obstacle found = is_elf ? ObstacleOfElf(at, &begin.header, kSanitizers) : kNone;
    if (at != fd) close(at);
    const char* interpreter = is_program && !is_elf ? InterpreterIn(begin.line) : NULL;
    if (interpreter == NULL || depth == kMostScripts) return found;
    at = open(interpreter, O_RDONLY | O_CLOEXEC);
  }
  return kNone;
}

enum Obstacle ObstacleOfDescriptor(int fd, const char* library) {
  const int saved = errno;
  const enum Obstacle found = CanBeRead(library) ? ObstacleOfOpen(fd) : kLibraryOutOfReach;
  errno = saved;
  return found;
}

enum Obstacle ObstacleOfFile(const char* path, const char* library) {
  const int saved = errno;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const enum Obstacle found = fd >= 0              ? ObstacleOfDescriptor(fd, library)
                              : CanBeRead(library) ? kNone
                                                   : kLibraryOutOfReach;
  if (fd >= 0) close(fd);
  errno = saved;
  return found;
}

enum Obstacle ObstacleOfThisProgram(void) {
  struct rlimit limit;
  const int limited =
      geteuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  Elf64_Ehdr header;
  enum Obstacle found = kNone;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && ReadAt(fd, &header, sizeof header, 0)) {
    found = ObstacleOfElf(fd, &header, kWantsOneThread);
    if (found == kNone && limited) found = ObstacleOfElf(fd, &header, kLocks);
  }
  if (fd >= 0) close(fd);
  return found;
}
