// LD_PRELOAD: makes one call of the C library fail. Of calls on files below $FAIL_UNDER, the one
// with number $FAIL_AT (from 1) fails with errno $FAIL_WITH; 0: it does but a part of what it was
// asked to, as calls may; -1: just before it somebody puts $FAIL_SWAP in the place of $FAIL_UNDER,
// which has .old behind its name then. How many there were is added to the file $FAIL_COUNT, a
// line a process.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char* name) {
  const char* text = getenv(name);
  return text != NULL ? atol(text) : 0;
}

static int is_of(int file);

static int is_below(const char* path) {
  const char* under = getenv("FAIL_UNDER");
  char where[PATH_MAX];
  if (under == NULL || path == NULL) return 0;
  if (strncmp(path, "/proc/self/fd/", 14) == 0) return is_of(atoi(path + 14));
  if (path[0] != '/') path = getcwd(where, sizeof where);
  return path != NULL && strncmp(path, under, strlen(under)) == 0;
}

static int is_of(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return is_below(path);
}

// Whether this call fails: errno is set. `part` where it may do a part instead.
static int fails(int counts, int* part) {
  const int before = errno;
  if (!counts || atomic_fetch_add(&calls, 1) + 1 != number("FAIL_AT")) {
    errno = before;
    return 0;
  }
  const int with = (int)number("FAIL_WITH");
  if (with < 0) {
    char old[PATH_MAX];
    snprintf(old, sizeof old, "%s.old", getenv("FAIL_UNDER"));
    (void)syscall(SYS_rename, getenv("FAIL_UNDER"), old);
    (void)syscall(SYS_rename, getenv("FAIL_SWAP"), getenv("FAIL_UNDER"));
    errno = before;
    return 0;
  }
  if (with == 0) {
    if (part != NULL) *part = 1;
    errno = before;
    return 0;
  }
  errno = with;
  return 1;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("FAIL_COUNT");
  char line[32];
  if (path == NULL) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int size = snprintf(line, sizeof line, "%ld\n", (long)calls);
  if (file >= 0 && syscall(SYS_write, file, line, size) == size) syscall(SYS_close, file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_PATH(result, name, parameters, arguments, path) \
  result name parameters {                                 \
    if (fails(is_below(path), NULL)) return -1;            \
    return NEXT(name) arguments;                           \
  }
#define ON_FILE(result, name, parameters, arguments) \
  result name parameters {                           \
    if (fails(is_of(file), NULL)) return -1;         \
    return NEXT(name) arguments;                     \
  }
#define SOME_OF(name, parameters, ...)        \
  ssize_t name parameters {                   \
    int part = 0;                             \
    if (fails(is_of(file), &part)) return -1; \
    if (part && size > 1) size /= 2;          \
    return NEXT(name)(__VA_ARGS__);           \
  }
#define OPENS(name)                             \
  int name(const char* path, int flags, ...) {  \
    va_list rest;                               \
    va_start(rest, flags);                      \
    const mode_t mode = va_arg(rest, mode_t);   \
    va_end(rest);                               \
    if (fails(is_below(path), NULL)) return -1; \
    return NEXT(name)(path, flags, mode);       \
  }
#define OPENS_AT(name)                                     \
  int name(int folder, const char* path, int flags, ...) { \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = va_arg(rest, mode_t);              \
    va_end(rest);                                          \
    if (fails(is_below(path), NULL)) return -1;            \
    return NEXT(name)(folder, path, flags, mode);          \
  }

#define GIVES(result, name, parameters, arguments) \
  result* name parameters {                        \
    if (fails(is_below(path), NULL)) return NULL;  \
    return NEXT(name) arguments;                   \
  }

GIVES(DIR, opendir, (const char* path), (path))
GIVES(FILE, fopen, (const char* path, const char* mode), (path, mode))
GIVES(FILE, fopen64, (const char* path, const char* mode), (path, mode))
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
SOME_OF(write, (int file, const void* data, size_t size), file, data, size)
SOME_OF(pwrite, (int file, const void* data, size_t size, off_t at), file, data, size, at)
SOME_OF(pwrite64, (int file, const void* data, size_t size, off64_t at), file, data, size, at)
SOME_OF(read, (int file, void* data, size_t size), file, data, size)
SOME_OF(pread, (int file, void* data, size_t size, off_t at), file, data, size, at)
SOME_OF(pread64, (int file, void* data, size_t size, off64_t at), file, data, size, at)
ON_FILE(ssize_t, writev, (int file, const struct iovec* parts, int count), (file, parts, count))
ON_FILE(int, fsync, (int file), (file))
ON_FILE(int, fdatasync, (int file), (file))
ON_FILE(int, ftruncate, (int file, off_t size), (file, size))
ON_FILE(int, ftruncate64, (int file, off64_t size), (file, size))
ON_FILE(int, fchmod, (int file, mode_t mode), (file, mode))
ON_FILE(int, fchown, (int file, uid_t user, gid_t group), (file, user, group))
ON_PATH(int, mkdir, (const char* path, mode_t mode), (path, mode), path)
ON_PATH(int, mkdirat, (int folder, const char* path, mode_t mode), (folder, path, mode), path)
ON_PATH(int, rename, (const char* from, const char* path), (from, path), path)
ON_PATH(int, renameat, (int f, const char* from, int to, const char* path), (f, from, to, path),
        path)
ON_PATH(int, renameat2, (int f, const char* from, int to, const char* path, unsigned flags),
        (f, from, to, path, flags), path)
ON_PATH(int, link, (const char* from, const char* path), (from, path), path)
ON_PATH(int, symlink, (const char* from, const char* path), (from, path), path)
