// The atomics of the lock-free protocols: those of the machine, or, where CROSSCUT_MODEL is
// defined, those of the model checker (testing/model_atomic.h), so that src/collect/model_test.cc
// runs the product's own code. Protocols that it checks use these names alone, or GCC's builtins in
// headers for C; where the machine runs them they are the same code as std::atomic.
#pragma once

#ifdef CROSSCUT_MODEL
#include "src/base/testing/model_atomic.h"
#else

#include <atomic>

namespace crosscut::sync {

template <class T>
using Atomic = std::atomic<T>;

// What one thread at a time writes, and others read once an atomic has told them that it is there.
template <class T>
using Plain = T;

// An atomic that lies in memory as a plain value.
template <class T>
std::atomic_ref<T> Ref(T& field) {
  return std::atomic_ref<T>(field);
}

}  // namespace crosscut::sync

#endif
