// torch._C._profiler._RecordFunctionFast, the scope that Triton's launchers and compiled programs
// open around their kernels: it asks whether a profiler of PyTorch's is on, and opens no
// RecordFunction where none is. Its methods are led through here; while operators are recorded,
// they find one for as long as they run. Outside of them nothing says so: a program may start
// torch.profiler, which takes no second one.
//
// Threads: methods run under the GIL; Lead() is called under it.

#include <c10/util/ThreadLocalDebugInfo.h>
#include <crosscut/crosscut.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <memory>

#include "operators.h"

namespace crosscut::pytorch {
namespace {

using torch::profiler::impl::ActiveProfilerType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torch::profiler::impl::ProfilerStateBase;

using Method = void* (*)(void* self, void* arguments);  // CPython's PyCFunction
struct MethodDef {                                      // CPython's PyMethodDef
  const char* name;
  Method method;
};

class Profiler final : public ProfilerStateBase {
 public:
  // Of one that is disabled no scope tells its inputs.
  explicit Profiler(bool inputs)
      : ProfilerStateBase(
            ProfilerConfig(inputs ? ProfilerState::CPU : ProfilerState::Disabled, inputs)) {}
  ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }
  void reportMemoryUsage(void*, int64_t, size_t, size_t, c10::Device) override {}
};

// Never destroyed: scopes are opened while the process exits.
const std::shared_ptr<c10::DebugInfoBase>& ThatIsOn() {
  static const auto* const both = new std::shared_ptr<c10::DebugInfoBase>[2] {
    std::make_shared<Profiler>(false), std::make_shared<Profiler>(true)
  };
  return both[RecordingInputs() != Inputs::kNone];
}

MethodDef *enter_def = nullptr, *exit_def = nullptr;
Method enter = nullptr, leave = nullptr;  // what they led to

// The scopes that were opened by Enter() on this thread: their __exit__ wants a profiler, too, and
// fails for others where it finds one.
struct Opened {
  static constexpr size_t kMost = 32;
  void* scopes[kMost];
  size_t count;
};
thread_local Opened opened;

void* Enter(void* self, void* arguments) {
  ScopeBegins("fast");
  const auto kState = c10::DebugInfoKind::PROFILER_STATE;
  if (!IsRecording() || opened.count == Opened::kMost ||
      c10::ThreadLocalDebugInfo::get(kState) != nullptr) {
    return enter(self, arguments);
  }
  const c10::DebugInfoGuard guard(kState, ThatIsOn());
  void* const result = enter(self, arguments);
  if (result != nullptr) opened.scopes[opened.count++] = self;
  return result;
}

void* Exit(void* self, void* arguments) {
  void** const end = opened.scopes + opened.count;
  void** const mine = std::find(opened.scopes, end, self);
  if (mine == end) return leave(self, arguments);
  std::copy(mine + 1, end, mine);
  --opened.count;
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, ThatIsOn());
  return leave(self, arguments);
}

}  // namespace
}  // namespace crosscut::pytorch

// Leads the two methods through here; null: puts them back, unless others stand there by now.
extern "C" CROSSCUT_API void crosscut_pytorch_fast_scopes(void* enter_method, void* exit_method) {
  using namespace crosscut::pytorch;
  if (enter_def != nullptr && enter_def->method == &Enter) enter_def->method = enter;
  if (exit_def != nullptr && exit_def->method == &Exit) exit_def->method = leave;
  enter_def = static_cast<MethodDef*>(enter_method);
  exit_def = static_cast<MethodDef*>(exit_method);
  if (enter_def == nullptr || exit_def == nullptr) return;
  enter = enter_def->method;
  leave = exit_def->method;
  enter_def->method = &Enter;
  exit_def->method = &Exit;
}
