#include "jit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "crosscut/crosscut.h"

namespace crosscut::pycalls {
namespace {

constexpr size_t kSweepAt = 4096;
// Which thread ends steps is a guess, that others may overturn: kFew calls of the main thread, or
// kLostAfter of others without one of its own, or at first as many as it has made.
constexpr uint32_t kLostAfter = 16;
constexpr uint32_t kFew = 3;

// Functions of the same code, each made when the one before was gone: in each step anew, perhaps.
struct Kin {
  PyObject* weak = nullptr;  // to the last one
  uint64_t made = 0, calls = 0;
};

struct Function {
  PyObject* weak;      // to the object: its address may come again
  uint32_t operation;  // 0: one of the library's own
  uint32_t span;
  uint64_t calls;
  Kin* kin;  // null: it has none
};

PyTypeObject* g_type = nullptr;
ternaryfunc g_original = nullptr;
PyObject* g_stepped = nullptr;
int32_t* (*g_inside)() = nullptr;
bool g_on = false;
std::unordered_map<PyObject*, Function>* g_functions = nullptr;
std::unordered_map<uint64_t, Kin>* g_kin = nullptr;  // by their code
uint64_t g_forgotten = 0;  // how often all functions were: calls may be under way then
__thread int32_t t_inside __attribute__((tls_model("initial-exec")));
int32_t* Inside() { return &t_inside; }

// What this thread has called most often.
struct Most {
  PyObject* function;  // borrowed: only compared
  const Kin* kin;
  uint64_t calls;
  uint64_t forgotten;  // g_forgotten of then
};
__thread Most t_most __attribute__((tls_model("initial-exec")));

// The thread whose calls end steps. Others may call jitted functions of their own beside it.
struct Stepping {
  unsigned long thread;  // 0: none yet
  uint32_t steps;        // that it has made; of a second one: kLostAfter
  uint32_t others;       // that others would have made since its last
  uint32_t main;         // that the main thread would have made, not far from one another
  uint32_t apart;        // made since the last of these
};
Stepping g_stepping = {};

uint32_t Probe() {
  static const uint32_t probe =
      crosscut_intern("operation", 9, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

uint32_t Operation(std::string_view name) {
  return crosscut_intern(name.data(), name.size(), CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE,
                         CROSSCUT_FOUND, Probe());
}

// What tells the code of a function: that of what it wraps, too, as jax.grad's does.
uint64_t CodeOf(PyObject* self) {
  constexpr int kMost = 32;
  uint64_t code_of_all = 0;
  Ref function = Ref::Borrow(self);
  for (int i = 0; i < kMost && function; ++i) {
    const Ref code = Attribute(function.get(), "__code__");
    code_of_all = code_of_all * 0x9e3779b97f4a7c15 + reinterpret_cast<uintptr_t>(code.get());
    function = Attribute(function.get(), "__wrapped__");
  }
  return code_of_all;
}

// Null: it has none, as long as the last one of its code is there.
Kin* KinOf(PyObject* self, PyObject* weak) {
  if (g_kin->size() >= kSweepAt) return nullptr;
  Kin& kin = (*g_kin)[CodeOf(self)];
  if (kin.weak != nullptr && !RefersTo(kin.weak, nullptr)) return nullptr;
  Py_INCREF(weak);
  Py_XSETREF(kin.weak, weak);
  ++kin.made;
  return &kin;
}

// Forgets the functions that are gone.
void Sweep() {
  for (auto at = g_functions->begin(); at != g_functions->end();) {
    if (!RefersTo(at->second.weak, nullptr)) {
      ++at;
      continue;
    }
    Py_DECREF(at->second.weak);
    at = g_functions->erase(at);
  }
}

// Whether it was called before we were there.
bool IsCompiled(PyObject* self) {
  const Ref size(PyObject_CallMethod(self, "_cache_size", nullptr));
  const bool compiled = size && PyLong_Check(size.get()) && PyLong_AsLong(size.get()) > 0;
  PyErr_Clear();
  return compiled;
}

Function* Add(PyObject* self) {
  if (g_functions->size() >= kSweepAt) Sweep();
  PyObject* weak = PyWeakref_NewRef(self, nullptr);
  if (weak == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const Ref module = Attribute(self, "__module__");
  const Ref name = Attribute(self, "__name__");
  const std::string_view home = module ? Text(module.get()) : "";
  const std::string text = name ? Text(name.get()) : "";
  const bool ours = home == "jax" || home.starts_with("jax.") || home.starts_with("jaxlib");
  const std::string span = "jax.jit(" + text + ")";
  Function function = {
      weak, ours ? 0 : Operation(text.empty() ? "jit" : text),
      crosscut_intern(span.data(), span.size(), CROSSCUT_SPAN, CROSSCUT_FRAMEWORK, 0, Probe()),
      IsCompiled(self) ? 1U : 0U, ours ? nullptr : KinOf(self, weak)};
  return &g_functions->insert_or_assign(self, function).first->second;
}

Function* Find(PyObject* self) {
  const auto at = g_functions->find(self);
  if (at == g_functions->end()) return Add(self);
  if (RefersTo(at->second.weak, self)) return &at->second;
  Py_DECREF(at->second.weak);
  g_functions->erase(at);
  return Add(self);
}

bool IsGone(PyObject* self) {
  const auto at = g_functions->find(self);
  return at == g_functions->end() || !RefersTo(at->second.weak, self);
}

uint64_t CallsOf(const Function& function) {
  return std::max(function.calls, function.kin != nullptr ? function.kin->calls : 0);
}

bool CalledMost(PyObject* self, const Function& function) {
  if (function.operation == 0 || CallsOf(function) == 0) return false;
  if (t_most.function == self || t_most.forgotten != g_forgotten) return true;
  if (CallsOf(function) > t_most.calls) return true;
  // Its next one may come.
  const bool comes_again = t_most.kin != nullptr && t_most.kin->made > 1;
  return IsGone(t_most.function) && (!comes_again || t_most.kin == function.kin);
}

// Whether calls of this thread end steps.
bool StepsHere() { return g_stepping.thread == PyThread_get_thread_ident(); }

// A call of what this thread calls most often has ended: whether that ends a step.
bool EndsStep() {
  Stepping& now = g_stepping;
  const unsigned long here = PyThread_get_thread_ident();
  if (now.thread != here) {
    ++now.others;
    if (syscall(SYS_gettid) == getpid()) {
      now.main = now.apart < kLostAfter ? now.main + 1 : 1;
      now.apart = 0;
    }
    const bool lost = now.others >= std::clamp(now.steps, kFew, kLostAfter);
    if (now.thread != 0 && !lost && now.main < kFew) return false;
    now = {here, now.thread == 0 ? 0 : kLostAfter, 0, 0, 0};
  }
  now.steps = std::min(now.steps + 1, kLostAfter);
  now.others = 0;
  ++now.apart;
  return true;
}

uint32_t OperationOf(const Function& function, bool most) {
  static const uint32_t compile = Operation("compile"), train_step = Operation("train_step");
  if (function.operation == 0) return 0;
  if (function.calls == 0) return compile;
  return most ? train_step : function.operation;
}

// The call was one of the function that makes the steps.
void Stepped() {
  if (g_stepped == nullptr) return;
  const Ref stepped = Ref::Borrow(g_stepped);  // it may end the recording, and be given up
  const Ref result(PyObject_CallOneArg(stepped.get(), reinterpret_cast<PyObject*>(g_type)));
  if (!result) PyErr_WriteUnraisable(stepped.get());
}

PyObject* Marked(Function* function, bool most, PyObject* const* call) {
  const uint32_t operation =
      OperationOf(*function, most && (StepsHere() || g_stepping.thread == 0));
  const uint32_t span = function->calls > 0 ? function->span : 0;
  const int opened = operation != 0 ? crosscut_open(operation) : 0;
  const int span_opened = span != 0 ? crosscut_open(span) : 0;
  PyObject* result = g_original(call[0], call[1], call[2]);
  if (span != 0) crosscut_close(span, span_opened);
  if (operation != 0) crosscut_close(operation, opened);
  return result;
}

PyObject* Call(PyObject* self, PyObject* args, PyObject* keywords) {
  Function* function = t_inside != 0 ? nullptr : Find(self);
  if (function == nullptr) return g_original(self, args, keywords);
  t_inside = 1;
  // What is called while it traces is a part of it, an optimizer's update, too.
  int32_t* const inside = g_inside == nullptr ? nullptr : g_inside();
  const int32_t around = inside == nullptr ? 0 : std::exchange(*inside, 1);
  const uint64_t forgotten = g_forgotten;
  const bool most = CalledMost(self, *function);
  PyObject* const call[] = {self, args, keywords};
  PyObject* result = g_on ? Marked(function, most, call) : g_original(self, args, keywords);
  t_inside = 0;
  if (inside != nullptr) *inside = around;
  if (result == nullptr || forgotten != g_forgotten) return result;
  ++function->calls;
  if (function->kin != nullptr) ++function->kin->calls;
  if (!most) return result;
  t_most = {self, function->kin, CallsOf(*function), g_forgotten};
  if (EndsStep()) Stepped();
  return result;
}

}  // namespace

bool PatchJit(PyTypeObject* type, PyObject* stepped, int32_t* (*inside)()) {
  if (g_type != nullptr) return g_type == type;
  // tp_call reads the vectorcall pointer of the object, so it works without the flag.
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_call != PyVectorcall_Call ||
      !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_weaklistoffset == 0) {
    return false;
  }
  if (g_functions == nullptr) g_functions = new std::unordered_map<PyObject*, Function>;
  if (g_kin == nullptr) g_kin = new std::unordered_map<uint64_t, Kin>;
  Py_INCREF(type);
  Py_INCREF(stepped);
  g_type = type;
  g_stepped = stepped;
  g_inside = inside;
  g_original = type->tp_call;
  crosscut_task_local(&Inside);
  type->tp_call = Call;
  type->tp_flags &= ~Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  return true;
}

void UnpatchJit() {
  if (g_type == nullptr) return;
  if (g_type->tp_call == Call) {
    g_type->tp_call = g_original;
    g_type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(g_type);
  }
  Py_CLEAR(g_type);
  Py_CLEAR(g_stepped);
  g_stepping = {};
  for (const auto& [object, function] : *g_functions) Py_DECREF(function.weak);
  g_functions->clear();
  for (const auto& [code, kin] : *g_kin) Py_XDECREF(kin.weak);
  g_kin->clear();
  ++g_forgotten;
}

void SwitchJit(bool on) { g_on = on; }

}  // namespace crosscut::pycalls
