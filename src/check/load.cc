// C1: loading.
#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "src/check/harness/options.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int64_t kMostNs = 100'000'000;

off_t Written() {
  struct stat out = {}, error = {};
  fstat(1, &out);
  fstat(2, &error);
  return out.st_size + error.st_size;
}

// " beside TensorFlow 2.21.0", "" where it is not loaded.
std::string BesideWhat() {
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "TF_Version"));
  return version == nullptr ? "" : std::string(" beside TensorFlow ") + version();
}

// From another folder and with nothing in the environment.
void LoadOnce(int flags, int64_t* best_ns) {
  if (chdir("/") != 0 || clearenv() != 0) return;
  const off_t written = Written();
  const int64_t before = MonotonicNs();
  std::string why;
  void* handle = Plugin::Open(options().plugin, flags, &why);
  if (handle == nullptr) {
    FailToLoad(why);
    return;
  }
  *best_ns = std::min(*best_ns, MonotonicNs() - before);
  if (dlsym(handle, "TF_InitProfiler") == nullptr) {
    FailFatally("C1.entry",
                "the library does not export TF_InitProfiler: declare it extern \"C\" "
                "with default visibility");
  }
  usleep(2000);
  fflush(nullptr);
  if (Written() != written) {
    Fail("C1.quiet",
         "loading writes to stdout or stderr: the program's output must not change; "
         "tell what there is to say by crosscut_host.tell()");
  }
  if (CountThreads() > 1) {
    Fail("C1.threads", "loading leaves a thread running: start it in the first session");
  }
}

}  // namespace

void RunLoad() {
  int64_t* best_ns = static_cast<int64_t*>(SharedMemory(sizeof(int64_t)));
  *best_ns = INT64_MAX;
  for (const int flags : {RTLD_LOCAL, RTLD_GLOBAL, RTLD_LOCAL, RTLD_GLOBAL}) {
    const Ending ending = InFork([&] { LoadOnce(RTLD_NOW | flags, best_ns); });
    ReportEnding(ending, "C1");
    if (!ending.normal()) board().fatal.store(1);
    if (board().fatal.load() != 0) return;
  }
  Note("loads in " + std::to_string(*best_ns / 1000) + " us" + BesideWhat());
  if (*best_ns > kMostNs) {
    Fail("C1.time", "loading takes " + std::to_string(*best_ns / 1'000'000) +
                        " ms, more than 100: look for the device in the first start instead");
  }
}

}  // namespace crosscut::check
