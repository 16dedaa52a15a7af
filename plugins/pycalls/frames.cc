#include "frames.h"

#include <algorithm>

#include "crosscut/frame.h"

namespace crosscut::pycalls {

// Frames that are not recorded: those that the interpreter puts where native code calls Python
// (3.12 on).
constexpr int kMostBetween = 4;

namespace {

#if PY_VERSION_HEX >= 0x030c0000

using Frame = const _PyInterpreterFrame;

Frame* Top() {
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked()->current_frame;
#else
  return PyThreadState_Get()->cframe->current_frame;
#endif
}
const void* KeyOf(Frame* frame) { return frame; }
Frame* TopOf(const void* key) { return static_cast<Frame*>(key); }
Frame* Below(Frame* frame) { return frame->previous; }
const PyCodeObject* CodeIn(Frame* frame) {
  // From 3.14 on the lowest bit says whether the frame owns a reference (_PyStackRef).
  constexpr uintptr_t kTag = PY_VERSION_HEX >= 0x030e0000 ? 1 : 0;
  return reinterpret_cast<const PyCodeObject*>(frame->executable & ~kTag);
}
// As PyUnstable_InterpreterFrame_GetLasti() has it, which stands behind a call.
int InstructionOf(Frame* frame) {
  return static_cast<int>(frame->instruction - CodeIn(frame)->co_code_adaptive);
}

#elif PY_VERSION_HEX >= 0x030b0000

// A frame is known by its object, which exists from the first event of the hook on.
using Frame = const _PyInterpreterFrame;

Frame* Top() { return PyThreadState_Get()->cframe->current_frame; }
const void* KeyOf(Frame* frame) { return frame->object; }
Frame* TopOf(const void* key) { return static_cast<const PyFrameObject*>(key)->inner; }
PyCodeObject* CodeIn(Frame* frame) { return frame->code; }
Frame* Below(Frame* frame) { return frame->previous; }
int InstructionOf(Frame* frame) {
  return static_cast<int>(frame->instruction - frame->code->co_code_adaptive);
}

#else

using Frame = const PyFrameObject;

Frame* Top() { return PyThreadState_Get()->frame; }
PyCodeObject* CodeIn(const PyFrameObject* frame) { return frame->f_code; }
const void* KeyOf(Frame* frame) { return frame; }
Frame* TopOf(const void* key) { return static_cast<Frame*>(key); }
Frame* Below(Frame* frame) { return frame->f_back; }
int InstructionOf(Frame* frame) {
  constexpr int kBytes = 2;  // of an instruction
  return frame->f_lasti * kBytes;
}

#endif

// From `frame` down to `caller`.
int InstructionFrom(Frame* frame, const void* caller) {
  for (int i = 0; frame != nullptr && i <= kMostBetween; ++i, frame = Below(frame)) {
    if (KeyOf(frame) == caller) return InstructionOf(frame);
  }
  return -1;
}

}  // namespace

const void* TopFrame() {
  const auto* top = Top();
  return top == nullptr ? nullptr : KeyOf(top);
}

const void* PlaceOfTop() { return Top(); }

bool Runs(const void* frame) {
  for (auto* one = Top(); one != nullptr; one = Below(one)) {
    if (KeyOf(one) == frame) return true;
  }
  return false;
}

#if PY_VERSION_HEX < 0x030c0000
PyCodeObject* CodeOf(const PyFrameObject* frame) { return CodeIn(TopOf(frame)); }
#endif

int CallerInstruction(const void* top, const void* caller) {
  return InstructionFrom(Below(TopOf(top)), caller);
}

int NativeCallerInstruction(const void* caller) { return InstructionFrom(Top(), caller); }

std::vector<LiveFrame> LiveFrames(bool skip_top) {
  std::vector<LiveFrame> live;
  auto* inner = Top();
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030b0000
    // PyFrame_GetBack() passes over the interpreter's own frames.
    while (inner != nullptr && CodeIn(inner) != code) inner = Below(inner);
#endif
    if (inner != nullptr && !skip_top) {
      live.push_back({KeyOf(inner), inner, code, InstructionOf(inner)});
    }
    if (inner != nullptr) inner = Below(inner);
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
