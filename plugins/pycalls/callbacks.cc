#include "callbacks.h"

#include <pthread.h>

#include <cstdint>

#include "call_stack.h"
#include "crosscut/crosscut.h"
#include "patches.h"

namespace crosscut::pycalls {
namespace {

#if PY_VERSION_HEX >= 0x030b0000
using Frame = struct _PyInterpreterFrame;
#else
using Frame = PyFrameObject;
#endif

// What runs on this thread, in the task that it runs, is a wrapped native call, and no Python that
// it called back.
__thread int32_t t_inside __attribute__((tls_model("initial-exec")));
int g_inside = 0;  // threads and tasks of which that is true

int32_t* Inside() { return &t_inside; }

PyObject* Evaluate(PyThreadState* thread, Frame* frame, int thrown);

// Our evaluation is in while a thread is inside, and nobody else's is.
void Count(int threads) {
  g_inside += threads;
  PyInterpreterState* interpreter = PyInterpreterState_Main();
  const _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  if (g_inside > 0 && now == _PyEval_EvalFrameDefault) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, Evaluate);
  } else if (g_inside == 0 && now == Evaluate) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
  }
}

uint32_t CallbackName() {
  static const uint32_t name =
      crosscut_intern("callback", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_PYTHON, 0, BoundaryProbe());
  return name;
}

PyObject* Evaluate(PyThreadState* thread, Frame* frame, int thrown) {
  if (t_inside == 0) {
    // Somebody who took us for the evaluation to go back to may have put us in.
    if (g_inside == 0) Count(0);
    return _PyEval_EvalFrameDefault(thread, frame, thrown);
  }
  t_inside = 0;
  Count(-1);
  const uint32_t session = g_session;
  crosscut_begin_inline(CallbackName());
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame, thrown);
  if (StillIn(session)) crosscut_end_inline();
  t_inside = 1;
  Count(1);
  return result;
}

void AfterForkInChild() { g_inside = t_inside; }

}  // namespace

bool EnterNative() {
  const bool before = t_inside != 0;
  if (before) return true;
  t_inside = 1;
  Count(1);
  return false;
}

void LeaveNative(bool before) {
  if (before) return;
  t_inside = 0;
  Count(-1);
}

bool InitCallbacks() {
  static const bool done = pthread_atfork(nullptr, nullptr, AfterForkInChild) == 0 &&
                           crosscut_task_local(&Inside) == CROSSCUT_OK;
  return done;
}

}  // namespace crosscut::pycalls
