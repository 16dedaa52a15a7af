#define _GNU_SOURCE
#include "sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "children.h"

#define INTERPOSES __attribute__((visibility("default")))

static int watches;
static long (*next_syscall)(long, ...);
static int (*next_unshare)(int);
static int (*next_prctl)(int, ...);

/* libcrosscut stores its function here when it is loaded; see src/runtime/api.cc. */
INTERPOSES void (*crosscut_preload_alone)(void);
/* Likewise, before a filter on the calling thread alone: the recorder's calls on it end. */
INTERPOSES void (*crosscut_preload_filter)(void);

static void Find(const char* name, void* to) {
  void* symbol = dlsym(RTLD_NEXT, name);
  memcpy(to, &symbol, sizeof symbol);
}

void WatchSandboxes(void) {
  Find("syscall", &next_syscall);
  Find("unshare", &next_unshare);
  Find("prctl", &next_prctl);
  watches = 1;
}

static void Tell(const char* words) {
  char name[64];
  snprintf(name, sizeof name, "note-one-thread-%d.txt", (int)getpid());
  const int fd = OpenInRun(name, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return;
  if (write(fd, words, strlen(words)) < 0) errno = 0;
  close(fd);
}

static void BeforeFilter(int on_all_threads) {
  void (*tell)(void) = on_all_threads ? crosscut_preload_alone : crosscut_preload_filter;
  if (tell != NULL) tell();
}

/* Six words, as the C library passes them: what a call does not take it does not look at. */
INTERPOSES long syscall(long number, ...) {
  va_list list;
  long words[6];
  va_start(list, number);
  for (int i = 0; i < 6; ++i) words[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_seccomp && words[0] == SECCOMP_SET_MODE_FILTER) {
    BeforeFilter((words[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0);
  } else if ((number == SYS_seccomp && words[0] == SECCOMP_SET_MODE_STRICT) ||
             (number == SYS_prctl && words[0] == PR_SET_SECCOMP)) {
    BeforeFilter(0);
  }
  if (next_syscall == NULL) Find("syscall", &next_syscall);
  return next_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

INTERPOSES int prctl(int option, ...) {
  va_list list;
  long words[4];
  va_start(list, option);
  for (int i = 0; i < 4; ++i) words[i] = va_arg(list, long);
  va_end(list);
  if (option == PR_SET_SECCOMP) BeforeFilter(0);
  if (next_prctl == NULL) Find("prctl", &next_prctl);
  return next_prctl(option, words[0], words[1], words[2], words[3]);
}

INTERPOSES int unshare(int flags) {
  enum { kOneThread = CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD };
  if (next_unshare == NULL) Find("unshare", &next_unshare);
  const int result = next_unshare(flags);
  if (result == 0 || errno != EINVAL || (flags & kOneThread) == 0 || !watches) return result;
  if (crosscut_preload_alone == NULL) return result; /* nothing of ours runs here */
  Tell(
      "unshare() was refused to the program: the kernel wants a process with one thread for it, "
      "and threads of Crosscut's are in this one\n");
  errno = EINVAL;
  return result;
}
