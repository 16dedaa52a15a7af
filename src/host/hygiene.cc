#include "src/host/hygiene.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// The kernel tells it without changing it.
unsigned Hygiene::Umask() {
  char text[512] = {};
  const int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char* at = n > 0 ? strstr(text, "Umask:") : nullptr;
  return at == nullptr ? 0 : static_cast<unsigned>(strtoul(at + 6, nullptr, 8));
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
