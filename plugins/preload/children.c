#define _GNU_SOURCE
#include "children.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "obstacle.h"

#define INTERPOSES __attribute__((visibility("default")))

typedef char* const* Words;
typedef int (*Spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                     const posix_spawnattr_t*, Words, Words);

/* Side by side, as each page that is written costs a program that is loaded with us its time. */
static char texts[3 * PATH_MAX + 128];
static const char *library = texts, *run_dir, *run_id; /* run_id: "" for none */
static const char kPreload[] = "LD_PRELOAD=";

/* The C library's function of that name. A library that is loaded later has stood before it: what
 * it found first is what the program would have called. */
static void* Next(void** known, const char* name) {
  void* next = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (next == NULL) {
    next = dlsym(RTLD_NEXT, name);
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
  }
  return next;
}

static struct {
  void *execve, *execvpe, *fexecve, *execveat, *posix_spawn, *posix_spawnp, *system, *popen;
} next;

/* libcrosscut stores its function here when it is loaded; see src/runtime/starts.h. */
INTERPOSES void (*crosscut_preload_starts)(int loads, int execs);

static void TellStart(int loads, int execs) {
  void (*starts)(int, int) = crosscut_preload_starts;
  if (starts != NULL) starts(loads, execs);
}

void WatchChildren(const char* path, const char* run) {
  const char* id = getenv("CROSSCUT_RUN_ID");
  if (id == NULL) id = "";
  if (strlen(path) + strlen(run) + strlen(id) + 3 > sizeof texts) return;
  /* All now: a child of vfork() must not search. */
  Next(&next.execve, "execve");
  Next(&next.execvpe, "execvpe");
  Next(&next.fexecve, "fexecve");
  Next(&next.execveat, "execveat");
  Next(&next.posix_spawn, "posix_spawn");
  Next(&next.posix_spawnp, "posix_spawnp");
  char* to = stpcpy(texts, path) + 1;
  run_dir = to;
  run_id = to = stpcpy(to, run) + 1;
  stpcpy(to, id);
}

const char* OwnPath(void) { return library; }

/* ---- Environments -----------------------------------------------------------------------------*/

static int IsEntry(const char* at) {
  const size_t bytes = strlen(library);
  return strncmp(at, library, bytes) == 0 &&
         (at[bytes] == '\0' || at[bytes] == ':' || at[bytes] == ' ');
}

/* Our entry in a value of LD_PRELOAD, NULL if it has none. */
static const char* OurEntry(const char* value) {
  for (const char* at = value; *at != '\0';) {
    if (IsEntry(at)) return at;
    at += strcspn(at, ": ");
    if (*at != '\0') ++at;
  }
  return NULL;
}

/* The variable that holds our entry; -1: none does. `count` is that of all. */
static long PreloadIn(Words variables, size_t* count) {
  long at = -1;
  for (*count = 0; variables[*count] != NULL; ++*count) {
    const char* variable = variables[*count];
    if (at < 0 && strncmp(variable, kPreload, sizeof kPreload - 1) == 0 &&
        OurEntry(variable + sizeof kPreload - 1) != NULL) {
      at = (long)*count;
    }
  }
  return at;
}

/* Writes the variable without our entry to `to`, which has room for it; false where nothing is
 * left. */
static int WithoutUs(const char* variable, char* to) {
  const char* value = variable + sizeof kPreload - 1;
  const char* entry = OurEntry(value);
  const char* rest = entry + strlen(library);
  size_t head = (size_t)(entry - variable);
  if (*rest != '\0') {
    ++rest; /* the separator behind it */
  } else if (entry != value) {
    --head; /* that before it */
  }
  memcpy(to, variable, head);
  strcpy(to + head, rest);
  return to[sizeof kPreload - 1] != '\0';
}

/* ---- Telling ----------------------------------------------------------------------------------*/

/* The first 64 bits of the machine's boot id; 0: not known. */
static unsigned long long ThisBoot(void) {
  char text[64];
  unsigned long long boot = 0;
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  for (int at = 0, digits = 0; at < bytes && digits < 16; ++at) {
    const char* found = text[at] == '\0' ? NULL : strchr("0123456789abcdef", text[at]);
    if (found == NULL) continue;
    boot = boot << 4 | (unsigned long long)(found - "0123456789abcdef");
    ++digits;
  }
  return boot;
}

/* By its numbers ("boot:device:inode:made_ns:path", src/runtime/run_folder.cc), where these are
 * known. */
static int IsRun(const struct stat* folder) {
  enum { kBoot, kDevice, kInode, kMade, kNumbers };
  unsigned long long numbers[kNumbers];
  const char* at = run_id;
  for (int i = 0; i < kNumbers; ++i) {
    char* end;
    numbers[i] = strtoull(at, &end, 16);
    if (end == at || *end != ':') return 1;
    at = end + 1;
  }
  if (strcmp(at, run_dir) != 0 || numbers[kBoot] != ThisBoot()) return 1;
  return folder->st_dev == numbers[kDevice] && folder->st_ino == numbers[kInode];
}

/* Not where another folder has taken the run's place, perhaps by somebody else's link. */
int OpenInRun(const char* name, int flags) {
  const int folder = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat facts;
  int fd = -1;
  if (folder >= 0 && fstat(folder, &facts) == 0 && IsRun(&facts)) {
    fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  }
  if (folder >= 0) close(folder);
  return fd;
}

/* A file for each obstacle: a line about the first child, and the end of a line for each other. */
void TellObstacle(enum Obstacle obstacle, const char* program, const char* who) {
  const char* const words[] = {
      "a ", who, " is not recorded: ", program, " ", ObstacleText(obstacle), "\n"};
  enum { kWords = sizeof words / sizeof *words };
  struct iovec line[kWords];
  char name[64];
  const int saved = errno;
  stpcpy(stpcpy(stpcpy(name, "note-children-"), ObstacleKey(obstacle)), ".txt");
  for (int i = 0; i < kWords; ++i) {
    line[i].iov_base = (char*)words[i];
    line[i].iov_len = strnlen(words[i], PATH_MAX);
  }
  const int fd = OpenInRun(name, O_WRONLY | O_APPEND | O_CREAT);
  struct stat facts;
  if (fd >= 0 && fstat(fd, &facts) == 0) {
    const int told = facts.st_size == 0 ? 0 : kWords - 1; /* then the end of a line is enough */
    if (writev(fd, line + told, kWords - told) < 0) errno = 0;
  }
  if (fd >= 0) close(fd);
  errno = saved;
}

/* ---- Starting ---------------------------------------------------------------------------------*/

/* One call to be made with the environment that the program can have. */
struct Start {
  enum { kExec, kExecPath, kExecFile, kExecAt, kSpawn, kSpawnPath } how;
  const char* path;
  int fd, flags;
  Words arguments;
  pid_t* pid;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
};

static int Call(const struct Start* start, Words variables) {
  const char* path = start->path;
  switch (start->how) {
    case kExec: {
      int (*execve_)(const char*, Words, Words) = Next(&next.execve, "execve");
      return execve_(path, start->arguments, variables);
    }
    case kExecPath: {
      int (*execvpe_)(const char*, Words, Words) = Next(&next.execvpe, "execvpe");
      return execvpe_(path, start->arguments, variables);
    }
    case kExecFile: {
      int (*fexecve_)(int, Words, Words) = Next(&next.fexecve, "fexecve");
      return fexecve_(start->fd, start->arguments, variables);
    }
    case kExecAt: {
      int (*execveat_)(int, const char*, Words, Words, int) = Next(&next.execveat, "execveat");
      if (execveat_ == NULL) return errno = ENOSYS, -1;
      return execveat_(start->fd, path, start->arguments, variables, start->flags);
    }
    default: {
      const int searches = start->how == kSpawnPath;
      Spawn spawn = searches ? Next(&next.posix_spawnp, "posix_spawnp")
                             : Next(&next.posix_spawn, "posix_spawn");
      return spawn(start->pid, path, start->actions, start->attributes, start->arguments,
                   variables);
    }
  }
}

/* What a call needs room for. The stack may have 16 KiB in all, and a child of vfork() must not
 * call malloc(): so this is a mapping of its own. */
enum { kMostVariables = 16384, kMostBytes = 65536 };
struct Scratch {
  struct Scratch* next;
  const char* owner;
  pid_t user; /* 0: free */
  struct Room room;
  char found[PATH_MAX];
  char preload[kMostBytes];
  char* copy[kMostVariables + 1];
};

/* All there are. Each stays its thread's, or that of a later one in the same place: what a child of
 * vfork() had in use at its exec the parent has. */
static struct Scratch* scratches;
static __thread const char this_thread __attribute__((tls_model("initial-exec")));

/* One that no signal handler has interrupted the use of. */
static struct Scratch* Borrow(void) {
  const pid_t self = getpid();
  struct Scratch* one = __atomic_load_n(&scratches, __ATOMIC_ACQUIRE);
  while (one != NULL && (one->owner != &this_thread || one->user == self)) one = one->next;
  if (one == NULL) {
    one = mmap(NULL, sizeof *one, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (one == MAP_FAILED) return NULL;
    one->owner = &this_thread;
    one->next = __atomic_load_n(&scratches, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&scratches, &one->next, one, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
  }
  one->user = self;
  return one;
}

/* The file that a search along PATH finds, in `found`; `name` where it does not. */
static const char* Search(const char* name, char* found) {
  if (name == NULL || strchr(name, '/') != NULL) return name;
  const char* path = getenv("PATH");
  if (path == NULL) path = "/bin:/usr/bin";
  const size_t length = strlen(name);
  for (const char* at = path;; ++at) {
    const size_t bytes = strcspn(at, ":");
    struct stat facts;
    if (bytes + length + 2 <= PATH_MAX) {
      memcpy(found, at, bytes);
      if (bytes != 0) found[bytes] = '/';
      memcpy(found + bytes + (bytes != 0), name, length + 1);
      if (stat(found, &facts) == 0 && S_ISREG(facts.st_mode) && access(found, X_OK) == 0) {
        return found;
      }
    }
    at += bytes;
    if (*at == '\0') return name;
  }
}

static enum Obstacle ObstacleOf(const struct Start* start, const char* path, struct Room* room) {
  const int empty =
      start->how == kExecAt && path != NULL && *path == '\0' && (start->flags & AT_EMPTY_PATH) != 0;
  if (start->how == kExecFile || empty) return ObstacleOfDescriptor(start->fd, library, room);
  return ObstacleOfFile(start->how == kExecAt ? start->fd : AT_FDCWD, path, library, room);
}

/* Whether the child is below a process that records: else it may be one itself, whatever it does.
 */
static int HasRecordedParent(Words variables) {
  static const char kParent[] = "CROSSCUT_PARENT=";
  for (; *variables != NULL; ++variables) {
    if (strncmp(*variables, kParent, sizeof kParent - 1) == 0) {
      return (*variables)[sizeof kParent - 1] != '\0';
    }
  }
  return 0;
}

/* The environment with what WithoutUs() leaves of the variable `at`. */
static Words CopyWithoutUs(Words variables, size_t count, size_t at, struct Scratch* to) {
  size_t n = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i != at) {
      to->copy[n++] = variables[i];
    } else if (WithoutUs(variables[i], to->preload)) {
      to->copy[n++] = to->preload;
    }
  }
  to->copy[n] = NULL;
  return to->copy;
}

/* In a child of vfork(), and on a small stack, too. Without room the call is made as it came. */
static int Make(const struct Start* start, Words variables) {
  size_t count = 0;
  const long at = *library == '\0' || variables == NULL ? -1 : PreloadIn(variables, &count);
  if (at < 0 || count > kMostVariables || strlen(variables[at]) >= kMostBytes) {
    return Call(start, variables);
  }
  struct Scratch* scratch = Borrow();
  if (scratch == NULL) return Call(start, variables);
  const int searches = start->how == kExecPath || start->how == kSpawnPath;
  const char* path = searches ? Search(start->path, scratch->found) : start->path;
  const enum Obstacle obstacle = ObstacleOf(start, path, &scratch->room);
  if (DoesHarm(obstacle)) TellObstacle(obstacle, path == NULL ? "a program" : path, "child");
  const int needless = obstacle == kNothingToDo && HasRecordedParent(variables) &&
                       !WithoutUs(variables[at], scratch->preload);
  const int loads = !needless && !DoesHarm(obstacle);
  if (!loads) variables = CopyWithoutUs(variables, count, (size_t)at, scratch);
  if (obstacle != kNoLoader) TellStart(loads, start->how != kSpawn && start->how != kSpawnPath);
  const int result = Call(start, variables);
  scratch->user = 0;
  return result;
}

static int Exec(const char* path, Words arguments, Words variables) {
  const struct Start start = {.how = kExec, .path = path, .arguments = arguments};
  return Make(&start, variables);
}
static int ExecPath(const char* file, Words arguments, Words variables) {
  const struct Start start = {.how = kExecPath, .path = file, .arguments = arguments};
  return Make(&start, variables);
}

/* ---- What is interposed -----------------------------------------------------------------------*/

INTERPOSES int execve(const char* path, Words arguments, Words variables) {
  return Exec(path, arguments, variables);
}
INTERPOSES int execv(const char* path, Words arguments) { return Exec(path, arguments, environ); }
INTERPOSES int execvp(const char* file, Words arguments) {
  return ExecPath(file, arguments, environ);
}
INTERPOSES int execvpe(const char* file, Words arguments, Words variables) {
  return ExecPath(file, arguments, variables);
}
INTERPOSES int fexecve(int fd, Words arguments, Words variables) {
  const struct Start start = {.how = kExecFile, .fd = fd, .arguments = arguments};
  return Make(&start, variables);
}
INTERPOSES int execveat(int fd, const char* path, Words arguments, Words variables, int flags) {
  const struct Start start = {
      .how = kExecAt, .path = path, .fd = fd, .flags = flags, .arguments = arguments};
  return Make(&start, variables);
}
INTERPOSES int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, Words arguments, Words variables) {
  const struct Start start = {kSpawn, path, -1, 0, arguments, pid, actions, attributes};
  return Make(&start, variables);
}
INTERPOSES int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, Words arguments, Words variables) {
  const struct Start start = {kSpawnPath, file, -1, 0, arguments, pid, actions, attributes};
  return Make(&start, variables);
}

/* The shell of these two is started within the C library, and loads us. */
INTERPOSES int system(const char* command) {
  int (*system_)(const char*) = Next(&next.system, "system");
  if (command != NULL) TellStart(1, 0);
  return system_(command);
}
INTERPOSES FILE* popen(const char* command, const char* mode) {
  FILE* (*popen_)(const char*, const char*) = Next(&next.popen, "popen");
  TellStart(1, 0);
  return popen_(command, mode);
}

/* The words of execl() and its kin, up to their NULL, as an array; what stands behind that stays to
 * be taken. Too many for an array on the stack are E2BIG, as for the kernel. */
#define ARGUMENTS_UP_TO_NULL(list, first, words)         \
  va_list list;                                          \
  size_t words##_count = 1;                              \
  va_start(list, first);                                 \
  while (va_arg(list, char*) != NULL) ++words##_count;   \
  va_end(list);                                          \
  if (words##_count > 1 << 16) return errno = E2BIG, -1; \
  char* words[words##_count + 1];                        \
  words[0] = (char*)first;                               \
  va_start(list, first);                                 \
  for (size_t i = 1; i <= words##_count; ++i) words[i] = va_arg(list, char*)

INTERPOSES int execl(const char* path, const char* first, ...) {
  ARGUMENTS_UP_TO_NULL(list, first, words);
  va_end(list);
  return Exec(path, words, environ);
}
INTERPOSES int execlp(const char* file, const char* first, ...) {
  ARGUMENTS_UP_TO_NULL(list, first, words);
  va_end(list);
  return ExecPath(file, words, environ);
}
INTERPOSES int execle(const char* path, const char* first, ...) {
  ARGUMENTS_UP_TO_NULL(list, first, words);
  Words variables = va_arg(list, Words);
  va_end(list);
  return Exec(path, words, variables);
}
