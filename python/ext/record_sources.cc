#include <new>
#include <string>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_module.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

// A recorder of before these functions still serves: the profile is refused then, and a profiler of
// the program's is not announced.
#pragma weak crosscut_collected
#pragma weak crosscut_other_profiler
#pragma weak crosscut_plugin_option

namespace crosscut::python {
namespace {

struct Source {
  PyObject* set_level;
  uint32_t span;  // "<name>: switch", layer overhead
};

void Call(const Source& source, crosscut_level level) {
  const Unseen unseen;
  const Ref result(PyObject_CallFunction(source.set_level, "i", static_cast<int>(level)));
  if (!result) PyErr_WriteUnraisable(source.set_level);
}

int SetLevel(void* self, crosscut_level level) {
  const InPython python;
  if (!python) return CROSSCUT_OK;
  const auto* source = static_cast<const Source*>(self);
  crosscut_begin_inline(source->span);
  Call(*source, level);
  crosscut_end_named(source->span);
  return CROSSCUT_OK;
}

}  // namespace

PyObject* AddSource(PyObject*, PyObject* args) {
  const char *name = nullptr, *version = nullptr;
  PyObject* set_level = nullptr;
  if (!PyArg_ParseTuple(args, "ssO:add_source", &name, &version, &set_level)) return nullptr;
  if (!PyCallable_Check(set_level)) {
    PyErr_SetString(PyExc_TypeError, "add_source(): set_level must be callable");
    return nullptr;
  }
  auto* source = new (std::nothrow) Source;  // never freed: a call may be in flight
  if (source == nullptr) return PyErr_NoMemory();
  source->set_level = Ref::Borrow(set_level).release();
  const std::string span = std::string(name) + ": switch";
  source->span = crosscut_intern(span.data(), span.size(), CROSSCUT_SPAN, CROSSCUT_OVERHEAD, 0, 0);
  crosscut_source it = {};
  it.struct_size = sizeof it;
  it.name = name;
  it.version = version;
  it.self = source;
  it.set_level = SetLevel;
  it.marks = 1;
  return PyLong_FromLong(Apart([&] { return crosscut_source_add(&it); }));
}

PyObject* RemoveSource(PyObject*, PyObject* handle) {
  const long number = PyLong_AsLong(handle);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number > 0) Apart([&] { crosscut_source_remove(static_cast<int>(number)); });
  Py_RETURN_NONE;
}

PyObject* Ours(PyObject*, PyObject* const* args, Py_ssize_t count) {
  static const uint32_t span =
      crosscut_intern("setting up", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_OVERHEAD, 0, 0);
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "ours(): what is to be called?");
    return nullptr;
  }
  const Unseen unseen;
  crosscut_begin_inline(span);
  PyObject* result =
      PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(count - 1), nullptr);
  crosscut_end_named(span);
  return result;
}

PyObject* Aside(PyObject*, PyObject* callable) {
  static const uint32_t span =
      crosscut_intern("collecting", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_OVERHEAD, 0, 0);
  const Unseen unseen;
  crosscut_begin_inline(span);
  PyObject* result = PyObject_CallNoArgs(callable);
  crosscut_end_named(span);
  crosscut_base(CROSSCUT_IDLE);
  return result;
}

PyObject* OtherProfiler(PyObject*, PyObject* args) {
  const char* who = nullptr;
  int moment = 0;
  if (!PyArg_ParseTuple(args, "si:other_profiler", &who, &moment)) return nullptr;
  if (crosscut_other_profiler != nullptr) {
    const Detached detached;
    crosscut_other_profiler(who, static_cast<crosscut_profiler_moment>(moment));
  }
  Py_RETURN_NONE;
}

PyObject* PluginOption(PyObject*, PyObject* args) {
  const char *key = nullptr, *value = nullptr;
  if (!PyArg_ParseTuple(args, "sz:plugin_option", &key, &value)) return nullptr;
  if (crosscut_plugin_option != nullptr) {
    const Detached detached;
    crosscut_plugin_option(key, value);
  }
  Py_RETURN_NONE;
}

PyObject* Collected(PyObject*, PyObject* args) {
  const char *source = nullptr, *format = nullptr;
  Py_buffer bytes;
  long long begin = 0, error = 0;
  if (!PyArg_ParseTuple(args, "ssy*LL:collected", &source, &format, &bytes, &begin, &error)) {
    return nullptr;
  }
  int code = CROSSCUT_EOFF;
  if (crosscut_collected != nullptr) {
    const Detached detached;
    code =
        crosscut_collected(source, format, bytes.buf, static_cast<size_t>(bytes.len), begin, error);
  }
  PyBuffer_Release(&bytes);
  return PyLong_FromLong(code);
}

}  // namespace crosscut::python
