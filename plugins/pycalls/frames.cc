#include "frames.h"

#include <algorithm>

#if PY_VERSION_HEX >= 0x030c0000

// The two first members of CPython's own, the same in 3.12 and 3.13: its header is no public one.
struct _PyInterpreterFrame {
  PyObject* code;
  _PyInterpreterFrame* previous;
};

#elif PY_VERSION_HEX >= 0x030b0000

// The first members of CPython 3.11's own: its header is no public one.
struct _PyInterpreterFrame {
  PyFunctionObject* function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject* code;
  PyFrameObject* object;
  _PyInterpreterFrame* previous;
  _Py_CODEUNIT* instruction;
};

#endif

namespace crosscut::pycalls {

// Frames that are not recorded: those that the interpreter puts where native code calls Python
// (3.12 on), and our own code's.
constexpr int kMostBetween = 4;

#if PY_VERSION_HEX >= 0x030c0000

const void* TopFrame() {
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked()->current_frame;
#else
  return PyThreadState_Get()->cframe->current_frame;
#endif
}

int CallerInstruction(const void* frame, const void* caller) {
  const auto* below = static_cast<const _PyInterpreterFrame*>(frame)->previous;
  for (int i = 0; i < kMostBetween && below != nullptr && below != caller; ++i) {
    below = below->previous;
  }
  return below != nullptr && below == caller ? TopInstruction(below) : -1;
}

int TopInstruction(const void* frame) {
  return PyUnstable_InterpreterFrame_GetLasti(
      static_cast<_PyInterpreterFrame*>(const_cast<void*>(frame)));
}

#elif PY_VERSION_HEX >= 0x030b0000

// In 3.11 a frame is known by its object, which exists from the first event of the hook on.
const void* TopFrame() {
  const _PyInterpreterFrame* top = PyThreadState_Get()->cframe->current_frame;
  return top == nullptr ? nullptr : top->object;
}

int CallerInstruction(const void* frame, const void* caller) {
  const _PyInterpreterFrame* top = PyThreadState_Get()->cframe->current_frame;
  if (top == nullptr || top->object != frame) return -1;
  const _PyInterpreterFrame* below = top->previous;
  for (int i = 0; i < kMostBetween && below != nullptr && below->object != caller; ++i) {
    below = below->previous;
  }
  if (below == nullptr || below->object != caller) return -1;
  const auto* code = reinterpret_cast<const _Py_CODEUNIT*>(below->code->co_code_adaptive);
  return static_cast<int>(below->instruction - code) * static_cast<int>(sizeof(_Py_CODEUNIT));
}

int TopInstruction(const void* frame) {
  return PyFrame_GetLasti(static_cast<PyFrameObject*>(const_cast<void*>(frame)));
}

#else

const void* TopFrame() { return PyThreadState_Get()->frame; }

int TopInstruction(const void* frame) {
  constexpr int kBytes = 2;  // of an instruction
  return static_cast<const PyFrameObject*>(frame)->f_lasti * kBytes;
}

int CallerInstruction(const void* frame, const void* caller) {
  const auto* below = static_cast<const PyFrameObject*>(frame)->f_back;
  for (int i = 0; i < kMostBetween && below != nullptr && below != caller; ++i) {
    below = below->f_back;
  }
  return below != nullptr && below == caller ? TopInstruction(below) : -1;
}

#endif

std::vector<LiveFrame> LiveFrames(bool skip_top) {
  std::vector<LiveFrame> live;
#if PY_VERSION_HEX >= 0x030c0000
  const auto* inner = static_cast<const _PyInterpreterFrame*>(TopFrame());
#endif
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const void* key = frame;
#if PY_VERSION_HEX >= 0x030c0000
    // The interpreter's own frames are passed over by PyFrame_GetBack().
    auto* const object = reinterpret_cast<PyObject*>(code);
    while (inner != nullptr && inner->code != object) inner = inner->previous;
    if (inner == nullptr) {
      Py_DECREF(code);
      Py_DECREF(frame);
      break;
    }
    key = inner;
    inner = inner->previous;
#endif
    if (!skip_top) live.push_back({key, code, TopInstruction(key)});
    skip_top = false;
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  std::reverse(live.begin(), live.end());
  return live;
}

}  // namespace crosscut::pycalls
