#define _GNU_SOURCE
#include "obstacle.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
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
    {"", ""},
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

/* ---- What was found before --------------------------------------------------------------------
 * A word for each file: what it hashes to, with what was found in the lowest bits. Whoever reads
 * one has all of it, so a child of vfork() and any thread may read and write them at any time. */
static uint64_t known[64];
enum { kIsKnown = 16, kFound = 15 };
_Static_assert((int)kObstacles <= kIsKnown, "what was found needs more bits");

static uint64_t HashOf(const struct stat* file) {
  const uint64_t words[] = {file->st_dev,
                            file->st_ino,
                            (uint64_t)file->st_size,
                            (uint64_t)file->st_mtim.tv_sec,
                            (uint64_t)file->st_mtim.tv_nsec,
                            (uint64_t)file->st_ctim.tv_sec,
                            (uint64_t)file->st_ctim.tv_nsec};
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

static uint64_t* PlaceOf(uint64_t hash) {
  return &known[hash >> 40 & (sizeof known / sizeof *known - 1)];
}

static int Remembered(uint64_t hash, enum Obstacle* found) {
  const uint64_t word = __atomic_load_n(PlaceOf(hash), __ATOMIC_RELAXED);
  if ((word & kIsKnown) == 0 || (word ^ hash) >> 5 != 0) return 0;
  *found = (enum Obstacle)(word & kFound);
  return 1;
}

/* A file that was just changed may change again and keep its times: they come from a clock that
 * ticks every few milliseconds. */
static void Remember(uint64_t hash, const struct stat* file, enum Obstacle found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - file->st_ctim.tv_sec < 2) return;
  __atomic_store_n(PlaceOf(hash), hash >> 5 << 5 | kIsKnown | found, __ATOMIC_RELAXED);
}

/* ---- Files ------------------------------------------------------------------------------------*/

struct File {
  int fd;
  size_t have; /* of its begin, in the room's head */
  struct Room* room;
};

static struct File Open(int fd, struct Room* room) {
  const ssize_t got = pread(fd, room->head, sizeof room->head, 0);
  return (struct File){fd, got < 0 ? 0 : (size_t)got, room};
}

static ssize_t ReadSome(const struct File* file, void* to, size_t bytes, uint64_t at) {
  if (at > file->have || bytes > file->have - at) return pread(file->fd, to, bytes, (off_t)at);
  memcpy(to, file->room->head + at, bytes);
  return (ssize_t)bytes;
}

static int ReadAt(const struct File* file, void* to, size_t bytes, uint64_t at) {
  return ReadSome(file, to, bytes, at) == (ssize_t)bytes;
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

static enum Obstacle NameIn(const struct File* file, uint64_t at, uint64_t size,
                            const struct Name* wanted) {
  enum { kOverlap = 12, kBlock = sizeof file->room->block - kOverlap };
  const uint64_t most = 64 << 20;
  enum Obstacle found = kNone;
  size_t kept = 0;
  char* block = file->room->block;
  if (size > most) size = most;
  for (uint64_t done = 0; done < size && found == kNone;) {
    const uint64_t left = size - done;
    const ssize_t got = ReadSome(file, block + kept, left < kBlock ? left : kBlock, at + done);
    if (got <= 0) break;
    done += (uint64_t)got;
    const size_t have = kept + (size_t)got;
    for (const struct Name* name = wanted; name->text != NULL && found == kNone; ++name) {
      if (memmem(block, have, name->text, name->bytes) != NULL) found = name->tells;
    }
    kept = have < kOverlap ? have : kOverlap;
    memmove(block, block + have - kept, kept);
  }
  return found;
}

static int Segment(const struct File* file, const Elf64_Ehdr* header, int i, Elf64_Phdr* segment) {
  return ReadAt(file, segment, sizeof *segment, header->e_phoff + (uint64_t)i * sizeof *segment);
}

/* Where the file has what is at `address` when it runs; 0: nowhere. */
static uint64_t OffsetOf(const struct File* file, const Elf64_Ehdr* header, uint64_t address) {
  Elf64_Phdr segment;
  for (int i = 0; i < header->e_phnum && Segment(file, header, i, &segment); ++i) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return 0;
}

/* What a program is linked to: its names, in the file, and which of them are libraries. */
enum { kMostLibraries = 8 };
struct Linked {
  uint64_t names, size;
  unsigned libraries; /* may be more than there is room for */
  uint64_t library[kMostLibraries];
};

static void ReadLinked(const struct File* file, const Elf64_Phdr* dynamic, struct Linked* linked) {
  char* block = file->room->block;
  Elf64_Dyn entry;
  for (uint64_t at = 0; at + sizeof entry <= dynamic->p_filesz;) {
    uint64_t bytes = (dynamic->p_filesz - at) / sizeof entry * sizeof entry;
    if (bytes > sizeof file->room->block) bytes = sizeof file->room->block;
    if (!ReadAt(file, block, bytes, dynamic->p_offset + at)) return;
    for (uint64_t i = 0; i < bytes; i += sizeof entry) {
      memcpy(&entry, block + i, sizeof entry);
      if (entry.d_tag == DT_NULL) return;
      if (entry.d_tag == DT_STRTAB) linked->names = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) linked->size = entry.d_un.d_val;
      if (entry.d_tag != DT_NEEDED) continue;
      if (linked->libraries < kMostLibraries) {
        linked->library[linked->libraries] = entry.d_un.d_val;
      }
      ++linked->libraries;
    }
    at += bytes;
  }
}

/* The C library's own and the compiler's, which start programs and load libraries where they are
 * asked to. */
static int IsPlainLibrary(const char* name) {
  static const char kPlain[][16] = {"libc.so.",  "libm.so.",     "libpthread.so.", "libdl.so.",
                                    "librt.so.", "libgcc_s.so.", "libstdc++.so.",  "ld-linux"};
  for (size_t i = 0; i < sizeof kPlain / sizeof *kPlain; ++i) {
    if (strncmp(name, kPlain[i], strlen(kPlain[i])) == 0) return 1;
  }
  return 0;
}

/* Whether a program calls nothing that starts another one or loads a library, by the names that it
 * refers to. True only where that is sure: any name that looks like one of those counts, and what
 * has threads may be of a language that makes system calls itself (Go). */
static int HasNothingToDo(const struct File* file, const struct Linked* linked) {
  static const char kStarts[][16] = {"exec",    "spawn",   "system",        "popen",
                                     "fork",    "clone",   "dlopen",        "dlmopen",
                                     "wordexp", "syscall", "pthread_create"};
  char* names = file->room->block;
  if (linked->size >= sizeof file->room->block || linked->libraries > kMostLibraries ||
      !ReadAt(file, names, linked->size, linked->names)) {
    return 0;
  }
  names[linked->size] = '\0';
  for (unsigned i = 0; i < linked->libraries; ++i) {
    if (linked->library[i] >= linked->size || !IsPlainLibrary(names + linked->library[i])) return 0;
  }
  for (size_t i = 0; i < sizeof kStarts / sizeof *kStarts; ++i) {
    if (memmem(names, linked->size, kStarts[i], strlen(kStarts[i])) != NULL) return 0;
  }
  return 1;
}

/* The GNU C library's loaders are all called ld-linux*, and only they can load what links to it. */
static int IsOurLoader(const struct File* file, const Elf64_Phdr* segment) {
  char path[256];
  const size_t bytes = segment->p_filesz < sizeof path ? segment->p_filesz : sizeof path - 1;
  if (!ReadAt(file, path, bytes, segment->p_offset)) return 1;
  path[bytes] = '\0';
  const char* slash = strrchr(path, '/');
  return strncmp(slash == NULL ? path : slash + 1, "ld-linux", 8) == 0;
}

static enum Obstacle ObstacleOfElf(const struct File* file, const struct Name* wanted) {
  Elf64_Ehdr header;
  if (!ReadAt(file, &header, sizeof header, 0)) return kNoLoader;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    return kOtherProcessor;
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return kNone;
  Elf64_Phdr segment, dynamic = {.p_filesz = 0};
  int has_loader = 0;
  for (int i = 0; i < header.e_phnum && Segment(file, &header, i, &segment); ++i) {
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    if (segment.p_type != PT_INTERP) continue;
    if (!IsOurLoader(file, &segment)) return kOtherLoader;
    has_loader = 1;
  }
  struct Linked linked = {.libraries = 0};
  ReadLinked(file, &dynamic, &linked);
  linked.names = OffsetOf(file, &header, linked.names);
  const enum Obstacle found =
      linked.names == 0 ? kNone : NameIn(file, linked.names, linked.size, wanted);
  if (found != kNone) return found;
  if (!has_loader) return kNoLoader;
  return linked.names != 0 && HasNothingToDo(file, &linked) ? kNothingToDo : kNone;
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

/* Of a program, or NULL and its interpreter where it is a script: that of a path in the room. */
static enum Obstacle ObstacleOfOne(int fd, struct Room* room, const char** interpreter) {
  enum { kFirstLine = 255 }; /* as the kernel */
  struct stat facts;
  const int has_facts = fstat(fd, &facts) == 0;
  const uint64_t hash = has_facts ? HashOf(&facts) : 0;
  enum Obstacle found = kNoLoader;
  *interpreter = NULL;
  if (has_facts && Remembered(hash, &found)) return found;
  const struct File file = Open(fd, room);
  if (file.have < SELFMAG) return kNoLoader;
  if (memcmp(room->head, ELFMAG, SELFMAG) == 0) {
    found = ObstacleOfElf(&file, kSanitizers);
    if (has_facts) Remember(hash, &facts, found);
  } else {
    room->head[file.have < kFirstLine ? file.have : kFirstLine] = '\0';
    *interpreter = InterpreterIn(room->head);
  }
  return found;
}

/* Closes each interpreter that it opens. */
static enum Obstacle ObstacleOfOpen(int fd, struct Room* room) {
  enum { kMostScripts = 4 }; /* as the kernel */
  for (int depth = 0, at = fd; at >= 0; ++depth) {
    const char* interpreter;
    const enum Obstacle found = ObstacleOfOne(at, room, &interpreter);
    if (at != fd) close(at);
    if (interpreter == NULL || depth == kMostScripts) return found;
    at = open(interpreter, O_RDONLY | O_CLOEXEC);
  }
  return kNone;
}

enum Obstacle ObstacleOfDescriptor(int fd, const char* library, struct Room* room) {
  const int saved = errno;
  enum Obstacle found = kNoLoader;
  if (fd >= 0 || (saved != ENOENT && saved != ENOTDIR)) { /* those are no program's */
    found = !CanBeRead(library) ? kLibraryOutOfReach : ObstacleOfOpen(fd, room);
  }
  errno = saved;
  return found;
}

enum Obstacle ObstacleOfFile(int folder, const char* path, const char* library, struct Room* room) {
  const int saved = errno;
  const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
  const enum Obstacle found = ObstacleOfDescriptor(fd, library, room);
  if (fd >= 0) close(fd);
  errno = saved;
  return found;
}

enum Obstacle ObstacleOfThisProgram(void) {
  struct rlimit limit;
  const int limited =
      geteuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  struct Room room;
  enum Obstacle found = kNone;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const struct File file = Open(fd, &room);
    found = ObstacleOfElf(&file, kWantsOneThread);
    if (!DoesHarm(found) && limited) found = ObstacleOfElf(&file, kLocks);
    close(fd);
  }
  return DoesHarm(found) ? found : kNone;
}
