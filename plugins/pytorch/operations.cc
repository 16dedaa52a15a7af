// libcrosscut_torch.so: the part of the PyTorch adapter that must be cheap and needs no headers of
// PyTorch. It stands in the tp_call slot of nn.Module's classes, marks the outermost call of a
// module as operation "forward" and every call as a span of that module's name;
// crosscut/adapters/torch.py drives it through ctypes.
//
// No Python object changes by this: torch.compile, TorchScript and torch.fx see the classes as they
// were. While modules are not recorded, an inner call costs a thread-local load and two branches.
//
// Slots are changed under the GIL; module_call() runs under it. Never unloaded.

#include <crosscut/crosscut.h>
#include <pthread.h>

#include <atomic>

#include "callbacks.h"
#include "import_slots.h"
#include "modules.h"

namespace {

using Call = void* (*)(void* self, void* args, void* keywords);  // CPython's ternaryfunc

Call original = nullptr;  // what nn.Module's classes have in tp_call; set before the first patch

// Told under the GIL of the end of an outermost call, recorded or not: module, result; what the
// call returns. Null: nobody is.
using Ended = void* (*)(void* module, void* result);
std::atomic<Ended> forward_ended{nullptr};

std::atomic<int32_t> on{0};  // 1 while automatic operations are recorded
std::atomic<bool> modules_on{false};
crosscut::modules::Names module_names;

// > 0: an automatic operation is open on this thread, in the task that it runs, that module calls
// belong to.
__thread int32_t inside __attribute__((tls_model("initial-exec"))) = 0;
int32_t* Inside() { return &inside; }

// > 0: an optimizer's step() is open there.
__thread int32_t updating __attribute__((tls_model("initial-exec"))) = 0;
int32_t* Updating() { return &updating; }

// What the outermost call of a module on this thread is called; 0: "forward".
__thread int32_t forward_as __attribute__((tls_model("initial-exec"))) = 0;
int32_t* ForwardAs() { return &forward_as; }

int source = 0;
crosscut::pytorch::ImportSlots* imports = nullptr;  // of crosscut_operations_import()

uint32_t Operation(const char* text) {
  return crosscut_intern(text, SIZE_MAX, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, CROSSCUT_FOUND,
                         crosscut_intern("operation", 9, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0));
}

uint32_t Forward() {
  static const uint32_t name = Operation("forward");
  return forward_as != 0 ? static_cast<uint32_t>(forward_as) : name;
}

void* RecordedCall(void* self, void* args, void* keywords) {
  if (!modules_on.load(std::memory_order_relaxed) || !crosscut_recording()) {
    return original(self, args, keywords);
  }
  const uint32_t name = module_names.Of(self);
  if (name == 0) return original(self, args, keywords);
  const int opened = crosscut_open(name);
  void* result = original(self, args, keywords);
  if (opened != 0) {
    crosscut_close(name, opened);
  } else {
    crosscut_end_inline();
  }
  return result;
}

void* OutermostCall(void* self, void* args, void* keywords) {
  if (on.load(std::memory_order_relaxed) == 0) return original(self, args, keywords);
  const uint32_t forward = Forward();
  const int opened = crosscut_open(forward);
  void* result = RecordedCall(self, args, keywords);
  crosscut_close(forward, opened);
  return result;
}

void* ModuleCall(void* self, void* args, void* keywords) {
  const Ended ended = forward_ended.load(std::memory_order_relaxed);
  if (inside != 0 || (on.load(std::memory_order_relaxed) == 0 && ended == nullptr)) {
    return RecordedCall(self, args, keywords);
  }
  inside = 1;
  void* result = OutermostCall(self, args, keywords);
  inside = 0;
  return ended != nullptr ? ended(self, result) : result;
}

// A forked worker is in nothing of what its parent was in.
void Forked() { inside = updating = forward_as = 0; }

int SetLevel(void*, crosscut_level level) {
  on.store(level >= CROSSCUT_LEVEL_BOUNDARY, std::memory_order_relaxed);
  const bool operators = level >= CROSSCUT_LEVEL_OPERATORS && level != CROSSCUT_LEVEL_MARKS;
  modules_on.store(operators, std::memory_order_relaxed);
  const bool boundary = level >= CROSSCUT_LEVEL_BOUNDARY && level != CROSSCUT_LEVEL_MARKS;
  crosscut::pytorch::RecordCallbacks(boundary);
  return CROSSCUT_OK;
}

}  // namespace

extern "C" {

// Registers the source "operations"; `version` is PyTorch's. Returns 0 or a CROSSCUT_E* code.
CROSSCUT_API int crosscut_operations_add(const char* version) {
  if (source != 0) return CROSSCUT_OK;
  static const int followed = pthread_atfork(nullptr, nullptr, &Forked);
  (void)followed;
  crosscut_source it = {};
  it.struct_size = sizeof it;
  it.name = "operations";
  it.version = version;
  it.set_level = &SetLevel;
  it.marks = 1;
  crosscut_task_local(&Inside);
  crosscut_task_local(&Updating);
  crosscut_task_local(&ForwardAs);
  source = crosscut_source_add(&it);
  return source != 0 ? CROSSCUT_OK : CROSSCUT_EINVAL;
}

CROSSCUT_API void crosscut_operations_remove(void) {
  if (source != 0) crosscut_source_remove(source);
  source = 0;
}

// 1 while automatic operations are recorded: for the wrappers in Python.
CROSSCUT_API const void* crosscut_operations_on(void) { return &on; }

// The calling thread's word of that name, valid while the thread lives; that of the task that runs
// on it.
CROSSCUT_API int32_t* crosscut_operations_inside(void) { return &inside; }
CROSSCUT_API int32_t* crosscut_operations_updating(void) { return &updating; }

// What the outermost module calls of this thread are called: the address of the name's id, as
// `inside` is; 0: "forward".
CROSSCUT_API int32_t* crosscut_operations_forward_as(void) { return &forward_as; }

// The id of an operation's name that modules may be called.
CROSSCUT_API uint32_t crosscut_operations_name(const char* operation) {
  return Operation(operation);
}

// What this thread runs outside every span is loading of data: DataLoader workers.
CROSSCUT_API void crosscut_operations_loads_data(void) { crosscut_base(CROSSCUT_DATA); }

// The outermost calls of modules tell `ended` of their end; null: nobody.
CROSSCUT_API void crosscut_operations_ended(Ended ended) { forward_ended.store(ended); }

// Puts the thunk into `slot`, the address of a class's tp_call. The first call tells what the
// classes' slots hold; others that hold something else are left alone. 1 if it is in now.
CROSSCUT_API int crosscut_operations_patch(Call* slot) {
  if (*slot == &ModuleCall) return 1;
  if (original == nullptr) original = *slot;
  if (*slot == nullptr || *slot != original) return 0;
  *slot = &ModuleCall;
  return 1;
}

CROSSCUT_API void crosscut_operations_unpatch(Call* slot) {
  if (*slot == &ModuleCall) *slot = original;
}

// `namer` gives the name id of a module when it is first called; null: modules are not recorded.
CROSSCUT_API void crosscut_modules_namer(crosscut::modules::Namer namer) {
  module_names.SetNamer(namer);
}

// Names `module`, until it is forgotten; the name's id. The text is UTF-8, `bytes` long, copied.
CROSSCUT_API uint32_t crosscut_modules_enter(void* module, const char* name, size_t bytes) {
  const uint32_t probe = crosscut_intern("span", 4, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  const uint32_t id =
      crosscut_intern(name, bytes, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE, CROSSCUT_NO_LAYER, probe);
  module_names.Enter(module, id);
  return id;
}

CROSSCUT_API void crosscut_modules_forget(void* module) { module_names.Forget(module); }

// PyTorch's libraries call `ours` for the function of Python's interpreter of that name, for good.
// Once.
CROSSCUT_API void crosscut_operations_import(const char* symbol, const void* ours) {
  if (imports != nullptr) return;
  imports = new crosscut::pytorch::ImportSlots({{symbol, reinterpret_cast<uintptr_t>(ours)}});
  imports->Lead(/*to_ours=*/true);
}

// Libraries have been loaded since: theirs call it, too, and Python that they call is told apart.
CROSSCUT_API void crosscut_operations_loaded(void) {
  if (imports != nullptr) imports->Lead(/*to_ours=*/true);
  crosscut::pytorch::LeadCallbacksOfNewLibraries();
}

// Whether Python that PyTorch's C++ calls is told apart from now on. 0: it is not.
CROSSCUT_API int crosscut_operations_callbacks(int apart) {
  return crosscut::pytorch::LeadCallbacks(apart != 0);
}

CROSSCUT_API const void* crosscut_operations_thunk(void) {
  return reinterpret_cast<const void*>(&ModuleCall);
}

}  // extern "C"
