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

#include "crosscut/ref.h"

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

// What a weak reference, or null, refers to; null: nothing any more.
inline Ref Referent(PyObject* reference) {
  PyObject* object = nullptr;
#if PY_VERSION_HEX >= 0x030d0000
  if (reference != nullptr) PyWeakref_GetRef(reference, &object);
  return Ref(object);
#else
  if (reference != nullptr) object = PyWeakref_GetObject(reference);
  return Ref::Borrow(object == Py_None ? nullptr : object);
#endif
}

// The exception, which is pending no more; null where it has no value.
inline Ref TakeException() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Ref(value);
}

// An object that any thread may ask for and replace. Never let go of at the program's end.
class SharedRef {
 public:
  // Null where there is none.
  Ref Get() const {
    const std::lock_guard lock(shared_mutex);
    return Ref::Borrow(object_);
  }
  // None, or null, stands for none.
  void Set(PyObject* object) {
    Ref other = Ref::Borrow(object == Py_None ? nullptr : object);
    const std::lock_guard lock(shared_mutex);
    other = Ref(std::exchange(object_, other.release()));
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
  // What it has under `key`; null where it has nothing, or with an exception.
  Ref Get(PyObject* key) const {
    const std::lock_guard lock(shared_mutex);
#if PY_VERSION_HEX >= 0x030d0000
    PyObject* found = nullptr;
    PyDict_GetItemRef(dict_, key, &found);
    return Ref(found);
#else
    return Ref::Borrow(PyDict_GetItemWithError(dict_, key));
#endif
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
    const Ref kept = Ref::Borrow(key);
    if (PyDict_DelItem(dict_, key) != 0) PyErr_Clear();
  }
  // Of the keys now: a list, or null with an exception.
  Ref Keys() const {
    const std::lock_guard lock(shared_mutex);
    return Ref(PyDict_Keys(dict_));
  }
  Py_ssize_t size() const { return PyDict_GET_SIZE(dict_); }

 private:
  PyObject* dict_ = nullptr;
};

// What is known of objects, as long as they live: by what they are, whatever they say that they
// equal. Nothing of theirs is called.
class ByIdentity {
 public:
  // Null where nothing is known.
  Ref Get(PyObject* object) const {
    const std::lock_guard lock(shared_mutex);
    const auto at = known_->find(object);
    const bool known = at != known_->end() && Referent(at->second.weak.get()).get() == object;
    return Ref::Borrow(known ? at->second.value.get() : nullptr);
  }
  // Not for objects that take no weak reference.
  void Set(PyObject* object, PyObject* value) {
    Known known{Ref(PyWeakref_NewRef(object, nullptr)), Ref::Borrow(value)};
    if (!known.weak) return PyErr_Clear();
    std::vector<Known> swept;
    const std::lock_guard lock(shared_mutex);
    if (known_->size() >= sweep_at_) Sweep(&swept);
    std::swap((*known_)[object], known);
  }
  void Remove(PyObject* object) {
    Known before;
    const std::lock_guard lock(shared_mutex);
    const auto at = known_->find(object);
    if (at == known_->end()) return;
    before = std::move(at->second);
    known_->erase(at);
  }

 private:
  static constexpr size_t kFirstSweep = 4096;
  struct Known {
    Ref weak, value;  // at the object's address there may have been another
  };

  // Takes out those that are gone. `swept`: what to let go of where no lock is held.
  void Sweep(std::vector<Known>* swept) {
    for (auto at = known_->begin(); at != known_->end();) {
      if (Ref alive = Referent(at->second.weak.get())) {
        swept->push_back({std::move(alive), Ref()});
        ++at;
      } else {
        swept->push_back(std::move(at->second));
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
