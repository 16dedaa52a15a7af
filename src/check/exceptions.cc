// C17: operator new fails at the k-th call that the plugin makes, for every k.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "src/check/harness/barrier.h"
#include "src/check/harness/exports.h"
#include "src/check/harness/options.h"
#include "src/check/harness/tf_status.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

namespace {

std::atomic<int64_t> made{0};      // by the plugin, since the last look
std::atomic<int64_t> failing{-1};  // the number of the one that fails

bool Fails() { return crosscut::check::inside_plugin && made.fetch_add(1) == failing.load(); }

void* Make(size_t size) { return std::malloc(size == 0 ? 1 : size); }

}  // namespace

// The plugin's calls come here, too: this program's symbols go before those of libstdc++.
void* operator new(size_t size) {
  void* block = Fails() ? nullptr : Make(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : Make(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : Make(size);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }

namespace crosscut::check {
namespace {

constexpr int64_t kMost = 500;

void Arm(int64_t number) {
  made.store(0);
  failing.store(number);
}

// Registers with the number-th allocation failing (-1: none), which may be refused.
void RegisterFailing(int64_t number, int64_t* count) {
  std::string why;
  void* handle = Plugin::Open(options().plugin, RTLD_NOW | RTLD_LOCAL, &why);
  if (handle == nullptr) return;
  const auto init = reinterpret_cast<InitFunction>(dlsym(handle, "TF_InitProfiler"));
  TP_Profiler profiler = {TP_PROFILER_STRUCT_SIZE, nullptr, nullptr};
  TP_ProfilerFns fns = {TP_PROFILER_FNS_STRUCT_SIZE, nullptr, nullptr, nullptr, nullptr};
  TF_ProfilerRegistrationParams params = {};
  params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params.patch_version = TP_PATCH;
  params.profiler = &profiler;
  params.profiler_fns = &fns;
  const HostStatus status;
  Arm(number);
  Guarded(Call::kInit, [&] { init(&params, status.get()); });
  *count = made.load();
  Arm(-1);
}

void FailEach(Plugin* plugin, int64_t* count) {
  const bool shows = WorkShows(plugin);
  Arm(-1);
  RunSession(plugin, {kSomeWork, Collect::kFull, 0});
  *count = made.load();
  const int64_t end = EndOfBudget();
  for (int64_t number = 0; number < std::min(*count, kMost) && MonotonicNs() < end; ++number) {
    Phase("allocation " + std::to_string(number + 1) + " of " + std::to_string(*count) +
          " of a session fails");
    Arm(number);
    RunSession(plugin, {kSomeWork, Collect::kFull, 0});
    Arm(-1);
    const Session after = RunSession(plugin, {kSomeWork, Collect::kFull, 0});
    if (after.ok() && (after.output() || !shows)) continue;
    Fail("C17.recovery", "after allocation " + std::to_string(number + 1) +
                             " of a session had "
                             "failed, the next session " +
                             (after.ok() ? "gives no output" : "fails") +
                             ": let start begin afresh whatever happened before");
    return;
  }
}

}  // namespace

void RunExceptions() {
  auto* counts = static_cast<int64_t*>(SharedMemory(3 * sizeof(int64_t)));
  for (int64_t number = -1; number < std::min(counts[0], kMost); ++number) {
    Phase("an allocation of TF_InitProfiler fails");
    int64_t* count = number == -1 ? &counts[0] : &counts[2];
    ReportEnding(InFork([=] { RegisterFailing(number, count); }), "C17");
    if (board().count.load() > 0) return;
  }
  WithAndWithoutPushTable("C17", [&](Plugin* plugin, bool) { FailEach(plugin, &counts[1]); });
  if (counts[0] + counts[1] == 0 && board().count.load() == 0) {
    Skip("the plugin does not use operator new of the shared C++ library");
    return;
  }
  Note(std::to_string(counts[0]) + " allocations at TF_InitProfiler, " + std::to_string(counts[1]) +
       " in a session");
}

}  // namespace crosscut::check
