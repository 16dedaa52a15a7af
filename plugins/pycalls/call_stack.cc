#include "call_stack.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "crosscut/crosscut.h"

namespace crosscut::pycalls {
namespace {

struct Open {
  const void* frame;
  const PyCodeObject* code;  // compared, never followed
  uint32_t name;
};

struct Stack {
  uint32_t depth = 0, capacity = 0, generation = 0, session = 0;
  Open* frames = nullptr;
  ~Stack() { std::free(frames); }
};

constexpr uintptr_t kOurs = 1;  // name ids begin above 255

__thread Stack* t_stack __attribute__((tls_model("initial-exec")));
pthread_key_t g_stack_key;
uint32_t g_generation = 1, g_session = 1;
Py_ssize_t g_extra_index = -1;
std::string* g_package_dir = nullptr;

#if PY_VERSION_HEX >= 0x030c0000
int GetExtra(PyCodeObject* code, void** extra) {
  return PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), g_extra_index, extra);
}
int SetExtra(PyCodeObject* code, void* extra) {
  return PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), g_extra_index, extra);
}
Py_ssize_t RequestExtra() { return PyUnstable_Eval_RequestCodeExtraIndex(nullptr); }
#else
int GetExtra(PyCodeObject* code, void** extra) {
  return _PyCode_GetExtra(reinterpret_cast<PyObject*>(code), g_extra_index, extra);
}
int SetExtra(PyCodeObject* code, void* extra) {
  return _PyCode_SetExtra(reinterpret_cast<PyObject*>(code), g_extra_index, extra);
}
Py_ssize_t RequestExtra() { return _PyEval_RequestCodeExtraIndex(nullptr); }
#endif

Stack* NewStack() {
  t_stack = new (std::nothrow) Stack;
  if (t_stack != nullptr) pthread_setspecific(g_stack_key, t_stack);
  return t_stack;
}

void DropStack(void* stack) {
  t_stack = nullptr;
  delete static_cast<Stack*>(stack);
}

bool Grow(Stack* stack) {
  const uint32_t capacity = stack->capacity == 0 ? 128 : 2 * stack->capacity;
  void* frames = std::realloc(stack->frames, capacity * sizeof(Open));
  if (frames == nullptr) return false;
  stack->frames = static_cast<Open*>(frames);
  stack->capacity = capacity;
  return true;
}

// "qualified_name (file.py:12)".
__attribute__((noinline)) uintptr_t NameCode(PyCodeObject* code) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const char* file = Text(code->co_filename);
  uintptr_t id = kOurs;
  if (g_package_dir->empty() ||
      std::strncmp(file, g_package_dir->data(), g_package_dir->size()) != 0) {
#if PY_VERSION_HEX >= 0x030b0000
    std::string text = Text(code->co_qualname);
#else
    std::string text = Text(code->co_name);
#endif
    const char* slash = std::strrchr(file, '/');
    text += std::string(" (") + (slash == nullptr ? file : slash + 1) + ":" +
            std::to_string(code->co_firstlineno) + ")";
    id =
        crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, CROSSCUT_PYTHON, 0, PycallProbe());
    if (id == 0) id = kOurs;  // no room for names: not recorded
  }
  SetExtra(code, reinterpret_cast<void*>(id));
  PyErr_Restore(type, value, traceback);
  return id;
}

uint32_t NameOf(PyCodeObject* code) {
  void* extra = nullptr;
  GetExtra(code, &extra);
  const auto id = reinterpret_cast<uintptr_t>(extra);
  return static_cast<uint32_t>(__builtin_expect(id != 0, 1) ? id : NameCode(code));
}

void PopTo(Stack* stack, uint32_t depth) {
  while (stack->depth > depth) crosscut_end_named(stack->frames[--stack->depth].name);
}

// Codes of the thread's frames, outermost first, without the topmost where `skip_top`.
std::vector<const PyCodeObject*> LiveCodes(bool skip_top) {
  std::vector<const PyCodeObject*> codes;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (!skip_top) codes.push_back(code);
    skip_top = false;
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return {codes.rbegin(), codes.rend()};
}

__attribute__((noinline)) void Resync(Stack* stack, bool skip_top) {
  stack->generation = g_generation;
  if (stack->session != g_session) stack->depth = 0;
  stack->session = g_session;
  if (stack->depth == 0) return;
  const std::vector<const PyCodeObject*> live = LiveCodes(skip_top);
  uint32_t kept = 0;
  for (size_t i = 0; i < live.size() && kept < stack->depth; ++i) {
    if (live[i] == stack->frames[kept].code) ++kept;
  }
  PopTo(stack, kept);
}

// The topmost entry of `frame`, or the depth where there is none.
uint32_t Find(const Stack* stack, const void* frame) {
  for (uint32_t i = stack->depth; i-- > 0;) {
    if (stack->frames[i].frame == frame) return i;
  }
  return stack->depth;
}

__attribute__((noinline)) void EndBelowTop(Stack* stack, const void* frame) {
  PopTo(stack, Find(stack, frame));
}

}  // namespace

uint32_t PycallProbe() {
  static const uint32_t probe =
      crosscut_intern("pycall", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

bool InitCallStack(const std::string& package_dir) {
  if (g_extra_index >= 0) return true;
  g_package_dir = new std::string(package_dir);
  g_extra_index = RequestExtra();
  return g_extra_index >= 0 && pthread_key_create(&g_stack_key, DropStack) == 0 &&
         pthread_atfork(nullptr, nullptr, NextSession) == 0;
}

void NextGeneration() { ++g_generation; }

void NextSession() {
  ++g_session;
  ++g_generation;
}

void BeginCall(const void* frame, PyCodeObject* code) {
  if (!crosscut_recording()) return;
  const uint32_t name = NameOf(code);
  if (name == kOurs) return;
  Stack* stack = t_stack;
  if (__builtin_expect(stack == nullptr, 0) && (stack = NewStack()) == nullptr) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) Resync(stack, true);
  if (__builtin_expect(stack->depth == stack->capacity, 0) && !Grow(stack)) return;
  stack->frames[stack->depth++] = {frame, code, name};
  crosscut_begin_inline(name);
}

void EndCall(const void* frame) {
  Stack* stack = t_stack;
  if (stack == nullptr || stack->depth == 0) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) {
    Resync(stack, Find(stack, frame) == stack->depth);
    if (stack->depth == 0) return;
  }
  if (__builtin_expect(stack->frames[stack->depth - 1].frame == frame, 1)) {
    --stack->depth;
    crosscut_end_inline();
  } else {
    EndBelowTop(stack, frame);
  }
}

}  // namespace crosscut::pycalls
