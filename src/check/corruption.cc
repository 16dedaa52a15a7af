// C13: sessions over an allocator that watches the edges of blocks (heap.c).
#include <dlfcn.h>

#include "src/check/harness/barrier.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr int kSessions = 200;

void Sessions(Plugin* plugin, void (*check)()) {
  const int64_t end = EndOfBudget();
  for (int i = 0; i < kSessions && MonotonicNs() < end; ++i) {
    Phase("session " + std::to_string(i + 1));
    const auto work = static_cast<uint64_t>(i % 7);
    RunSession(plugin, {work, i % 5 == 4 ? Collect::kNone : Collect::kFull, 0});
    if (i % 10 == 9) check();
  }
  plugin->Destroy();
  check();
}

}  // namespace

void RunCorruption() {
  const auto check = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "crosscut_heap_check"));
  if (check == nullptr) {
    Skip("the watching allocator could not be preloaded");
    return;
  }
  const Ending with = InFork([check] {
    const auto plugin = Plugin::Make(true);
    if (plugin != nullptr) Sessions(plugin.get(), check);
  });
  // The parent reads what the allocator said from the child's stderr.
  if (with.crashed()) abort();
  const auto plugin = Plugin::Make(false);
  if (plugin != nullptr) Sessions(plugin.get(), check);
}

}  // namespace crosscut::check
