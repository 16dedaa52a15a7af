// For what is written in C++ and calls Python: the one way in, from any thread. Python may not have
// begun, may be ending or have ended, and the thread may run another interpreter than the main one:
// then there is no way in, and the caller goes on without.
//
// A library that calls Python closes its door while Python still runs (CloseAtExit()): who takes
// the GIL while the interpreter ends is never heard of again. So whoever is inside is waited for,
// and no other comes in but the thread that ends Python.
#ifndef CROSSCUT_IN_PYTHON_H_
#define CROSSCUT_IN_PYTHON_H_

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace crosscut {

// The thread state of this thread; null: none. Before 3.12 that of the thread that has the GIL.
inline PyThreadState* ThisPythonThread() {
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// Whether Python runs; if so, it does not end as long as this lives. Takes no lock, needs no GIL.
class __attribute__((visibility("hidden"))) PythonRuns {
 public:
  PythonRuns() : runs_(Enter()) {}
  ~PythonRuns() {
    if (runs_) Leave();
  }
  PythonRuns(const PythonRuns&) = delete;
  PythonRuns& operator=(const PythonRuns&) = delete;
  explicit operator bool() const { return runs_; }

  // Has the door of this library closed before the interpreter ends; once, with the GIL. False with
  // an exception.
  static bool CloseAtExit() {
    static bool done = false;
    if (done) return true;
    static PyMethodDef method = {"close", &Close, METH_NOARGS, nullptr};
    PyObject* atexit = PyImport_ImportModule("atexit");
    PyObject* close = atexit == nullptr ? nullptr : PyCFunction_New(&method, nullptr);
    PyObject* added =
        close == nullptr ? nullptr : PyObject_CallMethod(atexit, "register", "O", close);
    done = added != nullptr && pthread_atfork(nullptr, nullptr, &ForgetOthers) == 0;
    Py_XDECREF(added);
    Py_XDECREF(close);
    Py_XDECREF(atexit);
    return done;
  }

 private:
  // Py_IsInitialized() says so from 3.15 on only when `site` has run, which brings us in.
  static bool MayCome() {
#if PY_VERSION_HEX >= 0x030d0000
    const bool ends = Py_IsFinalizing() != 0;
#else
    const bool ends = _Py_IsFinalizing() != 0;
#endif
    if (ends || PyInterpreterState_Main() == nullptr) return false;
    if (RunsAnotherInterpreter()) return false;
    return !closed.load() || pthread_equal(closer, pthread_self());
  }
  static bool RunsAnotherInterpreter() {
    if (PyInterpreterState_Head() == PyInterpreterState_Main()) return false;  // there is no other
    PyThreadState* const now = ThisPythonThread();
    if (now == nullptr || now->interp == PyInterpreterState_Main()) return false;
#if PY_VERSION_HEX >= 0x030c0000
    return true;
#else
    return now->thread_id == PyThread_get_thread_ident();
#endif
  }
  // Counted before the look at the door: who closes it sees the one or is seen by the other.
  static bool Enter() {
    inside.fetch_add(1);
    ++depth;
    const bool may = MayCome();
    if (!may) Leave();
    return may;
  }
  static void Leave() {
    --depth;
    inside.fetch_sub(1);
  }
  // Who is inside may wait for what this thread has: not for ever.
  static PyObject* Close(PyObject*, PyObject*) {
    constexpr int kTries = 5000, kMicroseconds = 200;
    closer = pthread_self();
    closed.store(true);
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < kTries && inside.load() > depth; ++i) usleep(kMicroseconds);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
  }
  static void ForgetOthers() { inside.store(depth); }

  static inline std::atomic<bool> closed{false};
  static inline pthread_t closer = {};       // before `closed`
  static inline std::atomic<int> inside{0};  // on all threads
  static inline thread_local int depth __attribute__((tls_model("initial-exec"))) =
      0;  // on this one

  const bool runs_;
};

// The exception that is pending, if there is one, is kept for after it. Needs the GIL at both ends.
class __attribute__((visibility("hidden"))) PendingException {
 public:
  PendingException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~PendingException() {
    if (kept_) PyErr_Restore(type_, value_, traceback_);
  }
  // Lets go of it: what is pending now stays.
  void Leave() {
    kept_ = false;
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(traceback_);
  }
  PendingException(const PendingException&) = delete;
  PendingException& operator=(const PendingException&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
  bool kept_ = true;
};

// As long as it lives this thread has the GIL and the main interpreter, if it converts to true, and
// the exception that was pending before is kept for after it. They nest. Waits for the GIL: hold no
// lock.
class __attribute__((visibility("hidden"))) InPython {
 public:
  InPython() {
    if (!runs_) return;
    state_ = PyGILState_Ensure();
    in_ = PyInterpreterState_Get() == PyInterpreterState_Main();
    if (in_) {
      PyErr_Fetch(&type_, &value_, &traceback_);
    } else {
      PyGILState_Release(state_);
    }
  }
  ~InPython() {
    if (!in_) return;
    PyErr_Restore(type_, value_, traceback_);
    PyGILState_Release(state_);
  }
  InPython(const InPython&) = delete;
  InPython& operator=(const InPython&) = delete;
  explicit operator bool() const { return in_; }

 private:
  const PythonRuns runs_;  // goes last
  bool in_ = false;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

}  // namespace crosscut

#endif  // CROSSCUT_IN_PYTHON_H_
