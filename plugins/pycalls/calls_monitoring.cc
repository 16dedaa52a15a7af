#include "calls.h"

#if PY_VERSION_HEX >= 0x030c0000

#include "call_stack.h"
#include "frames.h"

namespace crosscut::pycalls {
namespace {

constexpr int kFreeIds[] = {4, 3};  // 0, 1, 2 and 5 are a debugger's, coverage's, a profiler's, an
                                    // optimizer's by convention
int g_tool = -1;

PyObject* OnBegin(PyObject*, PyObject* const* args, Py_ssize_t) {
  BeginCall(TopFrame(), reinterpret_cast<PyCodeObject*>(args[0]));
  Py_RETURN_NONE;
}

PyObject* OnEnd(PyObject*, PyObject* const*, Py_ssize_t) {
  EndCall(TopFrame());
  Py_RETURN_NONE;
}

PyMethodDef g_on_begin = {"crosscut_begin",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OnBegin)),
                          METH_FASTCALL, nullptr};
PyMethodDef g_on_end = {"crosscut_end",
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OnEnd)),
                        METH_FASTCALL, nullptr};

struct Event {
  const char* name;
  PyMethodDef* callback;
  bool local;  // may be set for one code object
};
constexpr Event kEvents[] = {
    {"PY_START", &g_on_begin, true},  {"PY_RESUME", &g_on_begin, true},
    {"PY_THROW", &g_on_begin, false}, {"PY_RETURN", &g_on_end, true},
    {"PY_YIELD", &g_on_end, true},    {"PY_UNWIND", &g_on_end, false},
};

Ref Monitoring() {
  PyObject* monitoring = PySys_GetObject("monitoring");
  return Ref::Borrow(monitoring);
}

int EventBits(PyObject* monitoring, bool local_only) {
  const Ref events = Attribute(monitoring, "events");
  long bits = 0;
  for (const Event& event : kEvents) {
    if (local_only && !event.local) continue;
    const Ref bit = events ? Attribute(events.get(), event.name) : Ref();
    if (bit) bits |= PyLong_AsLong(bit.get());
  }
  return static_cast<int>(bits);
}

bool Register(PyObject* monitoring, int tool) {
  const Ref events = Attribute(monitoring, "events");
  for (const Event& event : kEvents) {
    const Ref bit = events ? Attribute(events.get(), event.name) : Ref();
    const Ref callback(PyCFunction_New(event.callback, nullptr));
    if (!bit || !callback) return false;
    Ref before(PyObject_CallMethod(monitoring, "register_callback", "iOO", tool, bit.get(),
                                   callback.get()));
    if (!before) return false;
  }
  return true;
}

// Takes a tool id once; names who holds them where all are taken.
bool Claim(PyObject* monitoring, std::string* owners) {
  if (g_tool >= 0) return true;
  for (const int id : kFreeIds) {
    Ref used(PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "crosscut"));
    if (used && Register(monitoring, id)) {
      g_tool = id;
      return true;
    }
    PyErr_Clear();
    const Ref holder(PyObject_CallMethod(monitoring, "get_tool", "i", id));
    if (!holder) PyErr_Clear();
    if (owners == nullptr) continue;
    if (!owners->empty()) *owners += ", ";
    *owners += Text(holder.get());
    *owners += " (monitoring tool " + std::to_string(id) + ")";
  }
  return false;
}

bool SetEvents(PyObject* monitoring, int bits) {
  Ref done(PyObject_CallMethod(monitoring, "set_events", "ii", g_tool, bits));
  if (!done) PyErr_Clear();
  return static_cast<bool>(done);
}

}  // namespace

bool HookCalls(std::string* owners) {
  const Ref monitoring = Monitoring();
  std::string holders;
  if (!monitoring || !Claim(monitoring.get(), &holders)) {
    if (owners != nullptr) *owners = holders;
    return false;
  }
  NextGeneration();
  return SetEvents(monitoring.get(), EventBits(monitoring.get(), false));
}

void UnhookCalls() {
  const Ref monitoring = Monitoring();
  if (monitoring && g_tool >= 0) SetEvents(monitoring.get(), 0);
}

void ReleaseCalls() {
  const Ref monitoring = Monitoring();
  if (!monitoring || g_tool < 0) return;
  SetEvents(monitoring.get(), 0);
  const Ref events = Attribute(monitoring.get(), "events");
  for (const Event& event : kEvents) {
    const Ref bit = Attribute(events.get(), event.name);
    Ref gone(PyObject_CallMethod(monitoring.get(), "register_callback", "iOO", g_tool, bit.get(),
                                 Py_None));
    if (!gone) PyErr_Clear();
  }
  Ref done(PyObject_CallMethod(monitoring.get(), "free_tool_id", "i", g_tool));
  if (!done) PyErr_Clear();
  g_tool = -1;
}

bool CallHooked(PyObject* function, PyObject* argument, PyCodeObject* code) {
  const Ref monitoring = Monitoring();
  if (!monitoring || !Claim(monitoring.get(), nullptr)) return false;
  const std::initializer_list<PyObject*> codes = {reinterpret_cast<PyObject*>(code),
                                                  PyFunction_GetCode(function)};
  const auto hook = [&](int bits) {
    bool all = true;
    for (PyObject* hooked : codes) {
      Ref done(
          PyObject_CallMethod(monitoring.get(), "set_local_events", "iOi", g_tool, hooked, bits));
      all = all && done;
      if (!done) PyErr_Clear();
    }
    return all;
  };
  Ref result(hook(EventBits(monitoring.get(), true)) ? PyObject_CallOneArg(function, argument)
                                                     : nullptr);
  if (!result) PyErr_Clear();
  hook(0);
  return static_cast<bool>(result);
}

}  // namespace crosscut::pycalls

#endif
