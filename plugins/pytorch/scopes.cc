#include "scopes.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <mutex>

#include "import_slots.h"
#include "operators.h"

namespace crosscut::pytorch {
namespace {

// record_function, in Python or TorchScript.
void Kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (!HasScopes()) {
    const c10::IValue& name = (*stack)[stack->size() - op.schema().arguments().size()];
    if (name.isString()) ScopeBegins(name.toStringRef().c_str());
  }
  op.redispatchBoxed(
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect),
      stack);
}

// RECORD_USER_SCOPE in C++ that is built on PyTorch: the constructor of its guard, which does not
// have the scope's name yet.
constexpr char kConstructor[] = "_ZN2at14RecordFunctionC1ENS_11RecordScopeE";
using Construct = void (*)(void* guard, at::RecordScope scope);
Construct construct = nullptr;

void Constructed(void* guard, at::RecordScope scope) {
  if (scope == at::RecordScope::USER_SCOPE && !HasScopes()) ScopeBegins("C++");
  construct(guard, scope);
}

ImportSlots& Slots() {
  static auto* const slots =
      new ImportSlots({{kConstructor, reinterpret_cast<uintptr_t>(&Constructed),
                        reinterpret_cast<uintptr_t>(construct)}});
  return *slots;
}

ForkSafeMutex mutex;
bool hears = false;

bool HearDispatched() {
  auto* const made = new torch::Library(torch::Library::IMPL, "profiler",
                                        c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
  bool any = false;
  for (const char* name : {"_record_function_enter", "_record_function_enter_new"}) {
    const auto op = c10::Dispatcher::singleton().findSchema({std::string("profiler::") + name, ""});
    if (!op.has_value() || op->schema().arguments().empty()) continue;
    made->impl(name, torch::CppFunction::makeFromBoxedFunction<&Kernel>());
    any = true;
  }
  return any;  // the library stays: its end would take the kernels out
}

}  // namespace

bool HearScopes() {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  if (hears) return true;
  construct = reinterpret_cast<Construct>(dlsym(RTLD_DEFAULT, kConstructor));
  if (construct == nullptr || !HearDispatched()) return false;
  hears = true;
  Slots().Lead(/*to_ours=*/true);
  return true;
}

void HearScopesOfNewLibraries() {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  if (hears) Slots().Lead(/*to_ours=*/true);
}

}  // namespace crosscut::pytorch
