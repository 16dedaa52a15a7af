#include "src/runtime/starts.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/collect/slow_path.h"
#include "src/format/format.h"

namespace crosscut::record {
namespace {

// In plugins/preload/cost.c: of a start without the library and of one with it, each in ns with its
// low and high bound. 0 where it could not be measured.
int (*measure)(double costs[2][3]);
bool (*owns_log)();

struct Kind {
  const char* text;
  const char* also_in_control;
  uint32_t name = 0, cost = 0;
  std::atomic<bool> started{false};  // relaxed: a flag by itself
  bool told = false;                 // the drain's
};
// By whether the library is loaded. Control steps pay as well.
constinit Kind kinds[] = {
    {"programs started", "programs started, also in control steps"},
    {"programs started with Crosscut's library",
     "programs started with Crosscut's library, also in control steps"},
};

// `execs`: a child of vfork(), which may end while it holds a lock, or the process itself, which
// starts nothing then. A word behind an event keeps it off the end of its chunk, the only place
// where a lock is taken.
void ProgramStarts(int loads, int execs) {
  Kind& kind = kinds[loads != 0 ? 1 : 0];
  if (execs == 0) {
    if (!IsSessionHere()) return;
    crosscut_instant(kind.name);
  } else {
    crosscut_thread* thread = crosscut_this_thread;
    const uint64_t name = kind.name;
    const uint32_t enabled = __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED);
    if (!crosscut_inline_(thread, enabled) || owns_log()) return;
    (void)crosscut_write_(0, format::kInstant, &name, 1, 0);
  }
  kind.started.store(true, std::memory_order_relaxed);
}

uint32_t Text(const char* text) {
  return crosscut_intern(text, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
}

}  // namespace

void FollowStarts(bool (*owns)()) {
  owns_log = owns;
  void* costs = dlsym(RTLD_DEFAULT, "crosscut_preload_costs");
  void* slot = dlsym(RTLD_DEFAULT, "crosscut_preload_starts");
  if (costs == nullptr || slot == nullptr) return;
  memcpy(&measure, &costs, sizeof measure);
  for (Kind& kind : kinds) {
    kind.cost = Text(kind.also_in_control);
    kind.name = crosscut_intern(kind.text, SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE,
                                CROSSCUT_NO_LAYER, Text(kind.text));
  }
  *static_cast<void (**)(int, int)>(slot) = &ProgramStarts;
}

void CalibrateStarts() {
  for (int i = 0; i < 2; ++i) {
    Kind& kind = kinds[i];
    double costs[2][3];
    if (kind.told || !kind.started.load(std::memory_order_relaxed)) continue;
    kind.told = true;
    if (measure(costs) == 0) continue;
    const auto ps = [&](int which) { return static_cast<int64_t>(1000 * costs[i][which]); };
    crosscut_probe_cost(kind.cost, ps(0), 0, ps(1), ps(2), 1);
  }
}

}  // namespace crosscut::record
