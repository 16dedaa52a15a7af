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
#include <sys/stat.h>
#include <unistd.h>

#include "obstacle.h"

#define INTERPOSES __attribute__((visibility("default")))

typedef char* const* Words;
typedef int (*Spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                     const posix_spawnattr_t*, Words, Words);

static char library[PATH_MAX], run_dir[PATH_MAX];
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

static struct { void *execve, *fexecve, *execveat, *posix_spawn, *posix_spawnp; } next;

void WatchChildren(const char* path, const char* run) {
  snprintf(run_dir, sizeof run_dir, "%s", run);
  /* All now: a child of vfork() must not search. */
  Next(&next.execve, "execve");
  Next(&next.fexecve, "fexecve");
  Next(&next.execveat, "execveat");
  Next(&next.posix_spawn, "posix_spawn");
  Next(&next.posix_spawnp, "posix_spawnp");
  snprintf(library, sizeof library, "%s", path);
}

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

/* ---- Telling ----------------------------------------------------------------------------------
 * A file for each obstacle: a line about the first child, and the end of a line for each other. */
void TellObstacle(enum Obstacle obstacle, const char* program, const char* who) {
  char path[PATH_MAX + 64], line[PATH_MAX + 160];
  const int saved = errno;
  snprintf(path, sizeof path, "%s/note-children-%s.txt", run_dir, ObstacleKey(obstacle));
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat facts;
  if (fd >= 0 && fstat(fd, &facts) == 0) {
    const int bytes = facts.st_size == 0
                          ? snprintf(line, sizeof line, "a %s is not recorded: %s %s\n", who,
                                     program, ObstacleText(obstacle))
                          : snprintf(line, sizeof line, "\n");
    if (write(fd, line, (size_t)bytes) < 0) errno = 0;
  }
  if (fd >= 0) close(fd);
  errno = saved;
}

/* ---- Starting ---------------------------------------------------------------------------------*/

/* One call to be made with the environment that the program can have. */
struct Start {
  enum { kExec, kExecFile, kExecAt, kSpawn, kSpawnPath } how;
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

/* The file that a search along PATH finds, in `found`; `name` where it does not. */
static const char* Search(const char* name, char* found) {
  if (strchr(name, '/') != NULL) return name;
  const char* path = getenv("PATH");
  if (path == NULL) path = "/bin:/usr/bin";
  for (const char* at = path;; ++at) {
    const size_t bytes = strcspn(at, ":");
    struct stat facts;
    const int fits = snprintf(found, PATH_MAX, "%.*s%s%s", (int)bytes, at, bytes == 0 ? "" : "/",
                              name) < PATH_MAX;
    if (fits && stat(found, &facts) == 0 && S_ISREG(facts.st_mode) && access(found, X_OK) == 0) {
      return found;
    }
    at += bytes;
    if (*at == '\0') return name;
  }
}

static enum Obstacle ObstacleOf(const struct Start* start, const char* path) {
  if (start->how == kExecFile) return ObstacleOfDescriptor(start->fd, library);
  if (start->how != kExecAt) return ObstacleOfFile(path, library);
  const int empty = *path == '\0' && (start->flags & AT_EMPTY_PATH) != 0;
  if (empty) return ObstacleOfDescriptor(start->fd, library);
  const int fd = openat(start->fd, path, O_RDONLY | O_CLOEXEC);
  const enum Obstacle found = ObstacleOfDescriptor(fd, library);
  if (fd >= 0) close(fd);
  return found;
}

/* In a child of vfork() too: everything is on the stack. */
static int Make(const struct Start* start, Words variables) {
  enum { kMostVariables = 16384, kMostBytes = 65536 };
  size_t count = 0;
  const long at = *library == '\0' || variables == NULL ? -1 : PreloadIn(variables, &count);
  if (at < 0 || count > kMostVariables || strlen(variables[at]) >= kMostBytes) {
    return Call(start, variables);
  }
  char found[PATH_MAX];
  const int searches = start->how == kSpawnPath;
  const char* path = searches ? Search(start->path, found) : start->path;
  const enum Obstacle obstacle = ObstacleOf(start, path);
  if (obstacle == kNone) return Call(start, variables);
  TellObstacle(obstacle, path == NULL ? "a program" : path, "child");
  char* copy[count + 1];
  char preload[strlen(variables[at]) + 1];
  size_t n = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i != (size_t)at) {
      copy[n++] = variables[i];
    } else if (WithoutUs(variables[i], preload)) {
      copy[n++] = preload;
    }
  }
  copy[n] = NULL;
  return Call(start, copy);
}

static int Exec(const char* path, Words arguments, Words variables) {
  const struct Start start = {.how = kExec, .path = path, .arguments = arguments};
  return Make(&start, variables);
}

/* As the C library: what the search finds is tried, a file of no known format as a shell's script.
 */
static int ExecPath(const char* file, Words arguments, Words variables) {
  char found[PATH_MAX];
  static void* known;
  size_t count = 0;
  if (*library == '\0' || file == NULL || PreloadIn(variables, &count) < 0 ||
      ObstacleOfFile(Search(file, found), library) == kNone) {
    int (*execvpe_)(const char*, Words, Words) = Next(&known, "execvpe");
    return execvpe_(file, arguments, variables);
  }
  return Exec(Search(file, found), arguments, variables);
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
