// A function of C that other people call, led through one of ours: whoever has it keeps the object
// that it is, which points to a copy of its table with our function.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// One for each function that is led; never destroyed. Under the GIL.
class LedMethod {
 public:
  // `place`: where an object has its table. For good: what is bound to an object points to the
  // copy. False where another function of these was led, or it takes its arguments in another way.
  bool Lead(PyMethodDef** place, int flags, PyCFunction to) {
    if (*place == &ours_) return true;
    if (theirs_ != nullptr || (*place)->ml_flags != flags) return false;
    theirs_ = *place;
    ours_ = *theirs_;
    ours_.ml_meth = to;
    *place = &ours_;
    return true;
  }
  // What was there, which its owner may change at any time: the boundary may stand there.
  template <class F>
  F Theirs() const {
    return reinterpret_cast<F>(reinterpret_cast<void (*)()>(theirs_->ml_meth));
  }

 private:
  const PyMethodDef* theirs_ = nullptr;
  PyMethodDef ours_ = {};
};

}  // namespace crosscut::python
