#include "collections.h"

#include <cstring>
#include <string>

#include "call_stack.h"
#include "crosscut/crosscut.h"

namespace crosscut::pycalls {
namespace {

constexpr int kGenerations = 3;

// A collection runs on one thread, under the GIL and never inside another.
bool g_wanted = false;
bool g_open = false;
unsigned long g_open_thread = 0;
uint32_t g_open_session = 0;

uint32_t SpanName(long generation) {
  static uint32_t names[kGenerations];
  if (generation < 0 || generation >= kGenerations) generation = kGenerations - 1;
  uint32_t& name = names[generation];
  if (name == 0) {
    const std::string text = "garbage collection, generation " + std::to_string(generation);
    name = crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, CROSSCUT_PYTHON, 0,
                           CollectionProbe());
  }
  return name;
}

bool IsOpen() { return g_open && StillIn(g_open_session); }

PyObject* OnCollection(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || !PyDict_Check(args[1])) Py_RETURN_NONE;
  const bool start = std::strcmp(Text(args[0]), "start") == 0;
  if (start && g_wanted && !IsOpen() && crosscut_recording()) {
    PyObject* generation = PyDict_GetItemString(args[1], "generation");
    const bool known = generation != nullptr && PyLong_Check(generation);
    crosscut_begin_inline(SpanName(known ? PyLong_AsLong(generation) : -1));
    g_open = true;
    g_open_thread = PyThread_get_thread_ident();
    g_open_session = g_session;
  } else if (!start) {
    if (IsOpen()) crosscut_end_inline();
    g_open = false;
  }
  Py_RETURN_NONE;
}

PyMethodDef g_def = {"crosscut_gc",
                     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OnCollection)),
                     METH_FASTCALL, nullptr};

Ref Callbacks() {
  Ref gc(PyImport_ImportModule("gc"));
  Ref list = gc ? Attribute(gc.get(), "callbacks") : Ref();
  PyErr_Clear();
  return list && PyList_Check(list.get()) ? std::move(list) : Ref();
}

}  // namespace

PyObject* CollectionCallback() {
  static PyObject* callback = PyCFunction_New(&g_def, nullptr);
  return callback;
}

uint32_t CollectionProbe() {
  static const uint32_t probe =
      crosscut_intern("gc", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

void HookCollections() {
  g_wanted = true;
  const Ref list = Callbacks();
  PyObject* callback = CollectionCallback();
  if (!list || callback == nullptr) return;
  const int there = PySequence_Contains(list.get(), callback);
  // First in the list: other callbacks' work at the end of a collection is not in its span.
  if (there == 0 && PyList_Insert(list.get(), 0, callback) < 0) PyErr_Clear();
}

void UnhookCollections() {
  g_wanted = false;
  // Another thread collects, in a finaliser that gave up the GIL: it ends its span by the callback.
  if (IsOpen() && g_open_thread != PyThread_get_thread_ident()) return;
  if (IsOpen()) crosscut_end_inline();
  g_open = false;
  const Ref list = Callbacks();
  for (Py_ssize_t i = list ? PyList_GET_SIZE(list.get()) : 0; i-- > 0;) {
    if (PyList_GET_ITEM(list.get(), i) != CollectionCallback()) continue;
    if (PyList_SetSlice(list.get(), i, i + 1, nullptr) < 0) PyErr_Clear();
  }
}

}  // namespace crosscut::pycalls
