#include "calls.h"

#if PY_VERSION_HEX >= 0x030c0000

#include <cstddef>

#include "builtins.h"
#include "call_stack.h"
#include "frames.h"

namespace crosscut::pycalls {
namespace {

constexpr int kFreeIds[] = {4, 3};  // 0, 1, 2 and 5 are a debugger's, coverage's, a profiler's, an
                                    // optimizer's by convention
int g_tool = -1;

PyObject* OnBegin(PyObject*, PyObject* const* args, size_t, PyObject*) {
  BeginCall(TopFrame(), reinterpret_cast<PyCodeObject*>(args[0]));
  Py_RETURN_NONE;
}

PyObject* OnEnd(PyObject*, PyObject* const* args, size_t, PyObject*) {
  // To look the frame up is dear here: it takes the thread's state.
  if (!EndTop(reinterpret_cast<PyCodeObject*>(args[0]))) EndCall(TopFrame());
  Py_RETURN_NONE;
}

PyObject* OnCall(PyObject*, PyObject* const* args, size_t, PyObject*) {
  if (IsBuiltin(args[2])) {
    BeginBuiltin(TopFrame(), reinterpret_cast<PyCodeObject*>(args[0]), args[2]);
  }
  Py_RETURN_NONE;
}

PyObject* OnCalled(PyObject*, PyObject* const* args, size_t, PyObject*) {
  if (IsBuiltin(args[2])) EndBuiltin(TopFrame());
  Py_RETURN_NONE;
}

// Called straight through its pointer: a built-in function would count the depth of recursion and
// look for keywords at each event.
struct Callback {
  PyObject_HEAD vectorcallfunc call;
};

PyTypeObject* CallbackType() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Callback, call), Py_READONLY, nullptr}, {}};
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)}, {Py_tp_members, members}, {}};
  static PyType_Spec spec = {
      "crosscut.callback", sizeof(Callback), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static PyObject* type = PyType_FromSpec(&spec);
  return reinterpret_cast<PyTypeObject*>(type);
}

Ref NewCallback(vectorcallfunc call) {
  PyTypeObject* type = CallbackType();
  PyObject* made = type == nullptr ? nullptr : type->tp_alloc(type, 0);
  if (made != nullptr) reinterpret_cast<Callback*>(made)->call = call;
  return Ref(made);
}

struct Event {
  const char* name;
  vectorcallfunc callback;
  bool local;             // may be set for one code object
  bool builtins = false;  // only where builtin functions are asked for
};
constexpr Event kEvents[] = {
    {"PY_START", OnBegin, true},        {"PY_RESUME", OnBegin, true},
    {"PY_THROW", OnBegin, false},       {"PY_RETURN", OnEnd, true},
    {"PY_YIELD", OnEnd, true},          {"PY_UNWIND", OnEnd, false},
    {"CALL", OnCall, false, true},      {"C_RETURN", OnCalled, false, true},
    {"C_RAISE", OnCalled, false, true},
};

Ref Monitoring() {
  PyObject* monitoring = PySys_GetObject("monitoring");
  return Ref::Borrow(monitoring);
}

int EventBits(PyObject* monitoring, bool local_only) {
  const Ref events = Attribute(monitoring, "events");
  long bits = 0;
  for (const Event& event : kEvents) {
    if ((local_only && !event.local) || (event.builtins && !g_builtins)) continue;
    const Ref bit = events ? Attribute(events.get(), event.name) : Ref();
    if (bit) bits |= PyLong_AsLong(bit.get());
  }
  return static_cast<int>(bits);
}

bool Register(PyObject* monitoring, int tool) {
  const Ref events = Attribute(monitoring, "events");
  for (const Event& event : kEvents) {
    const Ref bit = events ? Attribute(events.get(), event.name) : Ref();
    const Ref callback = NewCallback(event.callback);
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
