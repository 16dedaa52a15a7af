// What the threads of a Python share: the GIL keeps them apart, and where there is none these do.
// And what differs between the CPython versions that we serve.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace crosscut::python {

#ifdef Py_GIL_DISABLED

inline constexpr bool kHasGil = false;

// Whoever waits for it lets all threads be stopped (for a collection, for fork()), which may be
// what its holder waits for. With or without a thread state.
class StateMutex {
 public:
  void lock() { PyMutex_Lock(&mutex_); }
  void unlock() { PyMutex_Unlock(&mutex_); }
  // In a forked child, where nobody works under it.
  void ForgetHolder() { mutex_ = {}; }

 private:
  PyMutex mutex_ = {};
};

#else

inline constexpr bool kHasGil = true;
struct StateMutex {
  void lock() {}
  void unlock() {}
  void ForgetHolder() {}
};

#endif

// A function of any of the kinds that a PyMethodDef takes.
template <class F>
constexpr PyCFunction Function(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// As long as it lives this thread may wait for others that run Python.
class Detached {
 public:
  Detached() : state_(PyEval_SaveThread()) {}
  ~Detached() { PyEval_RestoreThread(state_); }
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

 private:
  PyThreadState* const state_;
};

// What may wait, for another thread or a disk: others run Python meanwhile.
template <class Call>
auto Apart(Call call) {
  const Detached detached;
  return call();
}

// Of what the module itself shares, for moments in which no thread can be stopped. A forked child
// never sees another thread give a lock back: it forgets who got this one. Nobody waits for the
// lock of a dictionary that this one guards.
inline StateMutex shared_mutex;

// What a weak reference, or null, refers to: a new reference, or null.
inline PyObject* Referent(PyObject* reference) {
  PyObject* object = nullptr;
#if PY_VERSION_HEX >= 0x030d0000
  if (reference != nullptr) PyWeakref_GetRef(reference, &object);
#else
  if (reference != nullptr && (object = PyWeakref_GetObject(reference)) == Py_None) {
    object = nullptr;
  }
  Py_XINCREF(object);
#endif
  return object;
}

// An object that any thread may ask for and replace.
class SharedRef {
 public:
  // A new reference; null where there is none.
  PyObject* Get() const {
    const std::lock_guard lock(shared_mutex);
    Py_XINCREF(object_);
    return object_;
  }
  // Takes over a reference, or null.
  void Set(PyObject* object) {
    shared_mutex.lock();
    PyObject* const before = object_;
    object_ = object;
    shared_mutex.unlock();
    Py_XDECREF(before);
  }

 private:
  PyObject* object_ = nullptr;
};

// A dictionary of the module's own, whose keys compare without Python.
class SharedDict {
 public:
  // Makes it; false with an exception.
  bool Make() {
    if (dict_ == nullptr) dict_ = PyDict_New();
    return dict_ != nullptr;
  }
  // What it has under `key`, a new reference; null where it has nothing, or with an exception.
  PyObject* Get(PyObject* key) const {
    const std::lock_guard lock(shared_mutex);
#if PY_VERSION_HEX >= 0x030d0000
    PyObject* found = nullptr;
    PyDict_GetItemRef(dict_, key, &found);
#else
    PyObject* found = PyDict_GetItemWithError(dict_, key);
    Py_XINCREF(found);
#endif
    return found;
  }
  // False with an exception.
  bool Set(PyObject* key, PyObject* value) {
    const std::lock_guard lock(shared_mutex);
    return PyDict_SetItem(dict_, key, value) == 0;
  }
  void Remove(PyObject* key) {
    const std::lock_guard lock(shared_mutex);
    if (PyDict_DelItem(dict_, key) != 0) PyErr_Clear();
  }
  // The one that was set first.
  void RemoveFirst() {
    const std::lock_guard lock(shared_mutex);
    PyObject* key = nullptr;
    Py_ssize_t place = 0;
    if (!PyDict_Next(dict_, &place, &key, nullptr)) return;
    Py_INCREF(key);
    if (PyDict_DelItem(dict_, key) != 0) PyErr_Clear();
    Py_DECREF(key);
  }
  // Of the keys now: a list, or null with an exception.
  PyObject* Keys() const {
    const std::lock_guard lock(shared_mutex);
    return PyDict_Keys(dict_);
  }
  Py_ssize_t size() const { return PyDict_GET_SIZE(dict_); }

 private:
  PyObject* dict_ = nullptr;
};

// What is known of objects, as long as they live: by what they are, whatever they say that they
// equal. Nothing of theirs is called. What fails for want of memory is not known.
class ByIdentity {
 public:
  // False with an exception.
  bool Make() { return known_.Make(); }
  // A new reference; null where nothing is known.
  PyObject* Get(PyObject* object) const {
    PyObject* key = PyLong_FromVoidPtr(object);
    PyObject* entry = key == nullptr ? nullptr : known_.Get(key);
    Py_XDECREF(key);
    PyObject* found = nullptr;
    if (entry != nullptr) {
      PyObject* alive = Referent(PyTuple_GET_ITEM(entry, 0));
      if (alive == object) found = PyTuple_GET_ITEM(entry, 1);
      Py_XINCREF(found);
      Py_XDECREF(alive);
      Py_DECREF(entry);
    }
    if (found == nullptr) PyErr_Clear();
    return found;
  }
  void Set(PyObject* object, PyObject* value) {
    if (known_.size() >= sweep_at_) Sweep();
    PyObject *key = PyLong_FromVoidPtr(object), *weak = PyWeakref_NewRef(object, nullptr);
    PyObject* entry = weak == nullptr ? nullptr : PyTuple_Pack(2, weak, value);
    if (key != nullptr && entry != nullptr) known_.Set(key, entry);
    PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(weak);
    Py_XDECREF(entry);
  }

 private:
  static constexpr Py_ssize_t kFirstSweep = 4096;

  // Forgets those that are gone.
  void Sweep() {
    PyObject* keys = known_.Keys();
    for (Py_ssize_t i = 0; keys != nullptr && i < PyList_GET_SIZE(keys); ++i) {
      PyObject* entry = known_.Get(PyList_GET_ITEM(keys, i));
      PyObject* alive = entry == nullptr ? nullptr : Referent(PyTuple_GET_ITEM(entry, 0));
      if (alive == nullptr) known_.Remove(PyList_GET_ITEM(keys, i));
      Py_XDECREF(alive);
      Py_XDECREF(entry);
    }
    Py_XDECREF(keys);
    sweep_at_ = std::max(kFirstSweep, 2 * known_.size());
  }

  SharedDict known_;
  std::atomic<Py_ssize_t> sweep_at_{kFirstSweep};
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

}  // namespace crosscut::python
