// What the threads of a Python share: the GIL keeps them apart, and where there is none these do.
// And what differs between the CPython versions that we serve.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace crosscut::python {

#ifdef Py_GIL_DISABLED

inline constexpr bool kHasGil = false;

// Whoever waits for it lets all threads be stopped (for a collection, for fork()), which may be
// what its holder waits for. With or without a thread state.
class Mutex {
 public:
  void lock() { PyMutex_Lock(&mutex_); }
  void unlock() { PyMutex_Unlock(&mutex_); }

 private:
  PyMutex mutex_ = {};
};
using StateMutex = Mutex;

// As long as it lives this thread may wait for others that run Python.
class Detached {
 public:
  Detached() : state_(PyEval_SaveThread()) {}
  ~Detached() { PyEval_RestoreThread(state_); }
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

 private:
  PyThreadState* state_;
};

#else

inline constexpr bool kHasGil = true;
using Mutex = std::mutex;  // threads without the GIL take it, too
struct StateMutex {
  void lock() {}
  void unlock() {}
};
struct Detached {
  Detached() {}
};

#endif

// An object that any thread may ask for and replace.
class SharedRef {
 public:
  // A new reference; null where there is none.
  PyObject* Get() {
    const std::lock_guard lock(mutex_);
    Py_XINCREF(object_);
    return object_;
  }
  // Takes over a reference, or null.
  void Set(PyObject* object) {
    mutex_.lock();
    PyObject* const before = object_;
    object_ = object;
    mutex_.unlock();
    Py_XDECREF(before);
  }

 private:
  StateMutex mutex_;
  PyObject* object_ = nullptr;
};

// How often something is to be undone.
class Tally {
 public:
  void Add() {
    if (kHasGil) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Takes one off; false where there is none.
  bool Take() {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0 && !count_.compare_exchange_weak(count, count - 1)) {
    }
    return count != 0;
  }

 private:
  std::atomic<uint32_t> count_{0};
};

// What `dict` has under `key`, a new reference; null where it has nothing, or with an exception.
inline PyObject* Lookup(PyObject* dict, PyObject* key) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* found = nullptr;
  PyDict_GetItemRef(dict, key, &found);
#else
  PyObject* found = PyDict_GetItemWithError(dict, key);
  Py_XINCREF(found);
#endif
  return found;
}

// Whether Python can be called. Py_IsInitialized() says so from 3.15 on only when `site` has run,
// which brings us in.
inline bool PythonRuns() {
#if PY_VERSION_HEX >= 0x030d0000
  const bool ends = Py_IsFinalizing() != 0;
#else
  const bool ends = _Py_IsFinalizing() != 0;
#endif
  return PyInterpreterState_Main() != nullptr && !ends;
}

// Tells the interpreter that the module needs no GIL: else importing it would bring it back.
inline int NeedsNoGil([[maybe_unused]] PyObject* module) {
#ifdef Py_GIL_DISABLED
  return PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#else
  return 0;
#endif
}

}  // namespace crosscut::python
