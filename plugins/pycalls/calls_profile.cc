#include "calls.h"

#if PY_VERSION_HEX < 0x030c0000

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "call_stack.h"
#include "frames.h"

namespace crosscut::pycalls {
namespace {

bool g_hooked = false;

int OnEvent(PyObject*, PyFrameObject* frame, int what, PyObject* callable) {
  if (what == PyTrace_CALL) {
    BeginCall(frame, CodeOf(frame));
  } else if (what == PyTrace_RETURN) {
    EndCall(frame);
  } else if (!g_builtins) {
    return 0;
  } else if (what == PyTrace_C_CALL) {
    BeginBuiltin(frame, CodeOf(frame), callable);
  } else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) {
    EndBuiltin(frame);
  }
  return 0;
}

// The first event of a thread that `threading` started: from here on in C.
PyObject* OnThread(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!g_hooked) {
    PyEval_SetProfile(nullptr, nullptr);
  } else {
    PyEval_SetProfile(OnEvent, nullptr);
    const char* event = count > 1 ? Text(args[1]) : "";
    if (std::string(event) == "call" && PyFrame_Check(args[0])) {
      OnEvent(nullptr, reinterpret_cast<PyFrameObject*>(args[0]), PyTrace_CALL, nullptr);
    }
  }
  Py_RETURN_NONE;
}

PyMethodDef g_on_thread_def = {
    "crosscut", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OnThread)),
    METH_FASTCALL, nullptr};

PyObject* OnThreadFunction() {
  static PyObject* function = PyCFunction_New(&g_on_thread_def, nullptr);
  return function;
}

std::string OwnerOf(PyObject* object) {
  if (object == nullptr) return "a C profile function";
  const Ref module = Attribute(object, "__module__");
  std::string name = Text(module.get());
  if (!name.empty()) name += ".";
  const Ref own = Attribute(object, "__qualname__");
  return name + (*Text(own.get()) != '\0' ? Text(own.get()) : Py_TYPE(object)->tp_name);
}

void NameOwner(std::string* owners, const std::string& owner) {
  if (owners == nullptr || owners->find(owner) != std::string::npos) return;
  if (!owners->empty()) *owners += ", ";
  *owners += owner;
}

// Threads that `threading` will start. An importing of ours could make this thread its main one.
void HookLaterThreads(bool on, std::string* owners) {
  const bool main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
  Ref threading = LoadedModule("threading");
  if (!threading && on && main) threading = Ref(PyImport_ImportModule("threading"));
  if (!threading) {
    PyErr_Clear();
    return;
  }
  const Ref now = Attribute(threading.get(), "_profile_hook");
  const bool free = !now || now.get() == Py_None;
  const bool ours = now.get() == OnThreadFunction();
  PyObject* next = on ? OnThreadFunction() : Py_None;
  if ((on && free) || (!on && ours)) {
    if (PyObject_SetAttrString(threading.get(), "_profile_hook", next) < 0) PyErr_Clear();
  } else if (on && !ours) {
    NameOwner(owners, OwnerOf(now.get()));
  }
}

// Calls `act` with each thread's state current, as PyEval_SetProfile works on the current one.
template <class Act>
void ForEachThread(Act act) {
  PyThreadState* self = PyThreadState_Get();
  PyThreadState* thread = PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(self));
  for (; thread != nullptr; thread = PyThreadState_Next(thread)) {
    PyThreadState_Swap(thread);
    act(thread);
  }
  PyThreadState_Swap(self);
}

}  // namespace

bool HookCalls(std::string* owners) {
  bool any = false, joins = false;
  const bool was_hooked = std::exchange(g_hooked, true);
  ForEachThread([&](PyThreadState* thread) {
    if (thread->c_profilefunc == nullptr) {
      joins = true;
      PyEval_SetProfile(OnEvent, nullptr);
    }
    if (thread->c_profilefunc == OnEvent) {
      any = true;
    } else if (thread->c_profileobj != OnThreadFunction()) {
      NameOwner(owners, OwnerOf(thread->c_profileobj));
    }
  });
  HookLaterThreads(true, owners);
  if (was_hooked && joins) NextGeneration();  // it may have been hooked before
  return any;
}

void UnhookCalls() {
  g_hooked = false;
  ForEachThread([](PyThreadState* thread) {
    const bool ours =
        thread->c_profilefunc == OnEvent || thread->c_profileobj == OnThreadFunction();
    if (ours) PyEval_SetProfile(nullptr, nullptr);
  });
  HookLaterThreads(false, nullptr);
}

void ReleaseCalls() {}

bool CallHooked(PyObject* function, PyObject* argument, PyCodeObject*) {
  PyThreadState* thread = PyThreadState_Get();
  if (thread->c_profilefunc != nullptr) return false;
  PyEval_SetProfile(OnEvent, nullptr);
  Ref result(PyObject_CallOneArg(function, argument));
  PyEval_SetProfile(nullptr, nullptr);
  if (!result) PyErr_Clear();
  return static_cast<bool>(result);
}

}  // namespace crosscut::pycalls

#endif
