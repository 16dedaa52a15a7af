#include "foreign.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "crosscut/crosscut.h"
#include "patches.h"

namespace crosscut::pycalls {
namespace {

constexpr size_t kSweepAt = 4096;

struct Function {
  PyObject* weak;  // to the object: its address may come again
  uint32_t name;   // 0: not recorded
};

PyObject* g_namer = nullptr;
// While this thread runs the namer, whose own calls have no names.
thread_local bool g_naming __attribute__((tls_model("initial-exec"))) = false;
std::unordered_map<PyObject*, Function>& Functions() {
  static auto* functions = new std::unordered_map<PyObject*, Function>;
  return *functions;
}

// Forgets the functions that are gone.
void Sweep() {
  for (auto at = Functions().begin(); at != Functions().end();) {
    if (!RefersTo(at->second.weak, nullptr)) {
      ++at;
      continue;
    }
    Py_DECREF(at->second.weak);
    at = Functions().erase(at);
  }
}

uint32_t Ask(PyObject* self) {
  const Ref namer = Ref::Borrow(g_namer);  // another thread may replace it meanwhile
  Ref answer(PyObject_CallOneArg(namer.get(), self));
  const char* text = nullptr;
  Py_ssize_t bytes = 0;
  int layer = 0;
  if (!answer || answer.get() == Py_None ||
      !PyArg_ParseTuple(answer.get(), "s#i", &text, &bytes, &layer)) {
    PyErr_Clear();
    return 0;
  }
  return crosscut_intern(text, static_cast<size_t>(bytes), CROSSCUT_SPAN,
                         static_cast<crosscut_layer>(layer), 0, BoundaryProbe());
}

uint32_t Add(PyObject* self) {
  if (g_namer == nullptr || g_naming) return 0;
  if (Functions().size() >= kSweepAt) Sweep();
  Ref weak(PyWeakref_NewRef(self, nullptr));
  if (!weak) {
    PyErr_Clear();
    return 0;
  }
  g_naming = true;
  const uint32_t name = Ask(self);
  g_naming = false;
  const auto [at, added] = Functions().insert({self, {weak.get(), name}});
  if (added) weak.release();
  return at->second.name;
}

}  // namespace

void SetForeignNamer(PyObject* namer) {
  ForgetForeign();
  Py_XINCREF(namer);
  Py_XDECREF(std::exchange(g_namer, namer));
}

void ForgetForeign() {
  auto all = std::exchange(Functions(), {});
  for (const auto& [object, function] : all) Py_DECREF(function.weak);
}

uint32_t ChooseForeign(uint32_t, const uint64_t (&arguments)[3]) {
  auto* self = reinterpret_cast<PyObject*>(arguments[0]);
  const auto at = Functions().find(self);
  if (at == Functions().end()) return Add(self);
  if (__builtin_expect(RefersTo(at->second.weak, self), 1)) return at->second.name;
  Py_DECREF(at->second.weak);
  Functions().erase(at);
  return Add(self);
}

}  // namespace crosscut::pycalls
