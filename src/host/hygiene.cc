#include "src/host/hygiene.h"

#include <fcntl.h>
#include <fenv.h>
#include <linux/close_range.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/thread.h"

namespace crosscut::host {
namespace {

void* HandlerOf(int signal) {
  struct sigaction action;
  if (sigaction(signal, nullptr, &action) != 0) return nullptr;
  return reinterpret_cast<void*>(action.sa_handler);
}

class List {
 public:
  List(char* out, size_t bytes) : out_(out), bytes_(bytes) { *out = '\0'; }
  void Add(const char* what) {
    const size_t used = strlen(out_);
    snprintf(out_ + used, bytes_ - used, "%s%s", used == 0 ? "" : ", ", what);
  }

 private:
  char* out_;
  size_t bytes_;
};

}  // namespace

// The kernel tells it in a file, without changing it. A thread with a table of descriptors of its
// own reads that: the program may just have closed one, to have its number for another. Not in its
// own folder there: the kernel would keep that until the thread has ended.
unsigned Hygiene::Umask() {
  constexpr size_t kStackBytes = 64 << 10;
  unsigned umask = 0;
  pthread_t thread;
  const auto read_umask = [](void* out) -> void* {
    char text[512] = {};
    if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) != 0) return nullptr;
    const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char* at = n > 0 ? strstr(text, "Umask:") : nullptr;
    if (at != nullptr)
      *static_cast<unsigned*>(out) = static_cast<unsigned>(strtoul(at + 6, nullptr, 8));
    return nullptr;
  };
  if (base::StartThread(read_umask, &umask, kStackBytes, &thread) == 0)
    pthread_join(thread, nullptr);
  return umask;
}

Hygiene::Hygiene() : rounding_(fegetround()), umask_(Umask()) {
  for (int i = 1; i <= kSignals; ++i) handlers_[i] = HandlerOf(i);
  memset(&mask_, 0, sizeof mask_);  // the kernel fills but its own part
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  const char* locale = setlocale(LC_ALL, nullptr);
  snprintf(locale_, sizeof locale_, "%s", locale == nullptr ? "" : locale);
  if (getcwd(cwd_, sizeof cwd_) == nullptr) cwd_[0] = '\0';
}

bool Hygiene::Differs(char* out, size_t bytes) const {
  List list(out, bytes);
  const Hygiene now;
  for (int i = 1; i <= kSignals; ++i) {
    if (now.handlers_[i] == handlers_[i]) continue;
    char text[64];
    snprintf(text, sizeof text, "handler of signal %d (%s)", i, strsignal(i));
    list.Add(text);
  }
  if (memcmp(&now.mask_, &mask_, sizeof mask_) != 0) {
    list.Add("signal mask");
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  if (now.rounding_ != rounding_) {
    list.Add("rounding mode");
    (void)fesetround(rounding_);
  }
  if (now.umask_ != umask_) list.Add("umask");
  if (strcmp(now.locale_, locale_) != 0) list.Add("locale");
  if (strcmp(now.cwd_, cwd_) != 0) list.Add("working directory");
  return *out != '\0';
}

}  // namespace crosscut::host
