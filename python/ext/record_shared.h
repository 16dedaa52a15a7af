// What the threads of a Python share: the GIL keeps them apart, and where there is none these do.
// And what differs between the CPython versions that we serve.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

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
// equal. Nothing of theirs is called.
class ByIdentity {
 public:
  // A new reference; null where nothing is known.
  PyObject* Get(PyObject* object) const {
    const std::lock_guard lock(shared_mutex);
    const auto at = known_->find(object);
    if (at == known_->end() || !IsOf(at->second, object)) return nullptr;
    Py_INCREF(at->second.value);
    return at->second.value;
  }
  // Not for objects that take no weak reference.
  void Set(PyObject* object, PyObject* value) {
    PyObject* weak = PyWeakref_NewRef(object, nullptr);
    if (weak == nullptr) return PyErr_Clear();
    Py_INCREF(value);
    Known before;
    std::vector<Known> swept;
    {
      const std::lock_guard lock(shared_mutex);
      if (known_->size() >= sweep_at_) Sweep(&swept);
      before = std::exchange((*known_)[object], {weak, value});
    }
    LetGo(before);
    for (const Known& one : swept) LetGo(one);
  }
  void Remove(PyObject* object) {
    Known before;
    {
      const std::lock_guard lock(shared_mutex);
      const auto at = known_->find(object);
      if (at == known_->end()) return;
      before = at->second;
      known_->erase(at);
    }
    LetGo(before);
  }

 private:
  static constexpr size_t kFirstSweep = 4096;
  struct Known {
    PyObject *weak = nullptr, *value = nullptr;
  };

  static void LetGo(const Known& known) {
    Py_XDECREF(known.weak);
    Py_XDECREF(known.value);
  }
  // At its address there may have been another.
  static bool IsOf(const Known& known, PyObject* object) {
    PyObject* alive = Referent(known.weak);
    Py_XDECREF(alive);  // not the last reference: it is `object`, which the caller has
    return alive == object;
  }
  // Takes out those that are gone. `swept`: what to let go of where no lock is held.
  void Sweep(std::vector<Known>* swept) {
    for (auto at = known_->begin(); at != known_->end();) {
      if (PyObject* alive = Referent(at->second.weak)) {
        swept->push_back({alive, nullptr});
        ++at;
      } else {
        swept->push_back(at->second);
        at = known_->erase(at);
      }
    }
    sweep_at_ = std::max(kFirstSweep, 2 * known_->size());
  }

  // Never destroyed: threads may outlive the end of the program.
  std::unordered_map<PyObject*, Known>* const known_ = new std::unordered_map<PyObject*, Known>;
  size_t sweep_at_ = kFirstSweep;
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
