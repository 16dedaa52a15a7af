#include "call_stack.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "call_sites.h"
#include "compilers.h"
#include "crosscut/crosscut.h"
#include "entries.h"
#include "frames.h"
#include "patches.h"

namespace crosscut::pycalls {
namespace {

// What a code object's extra pointer holds.
struct CodeId {
  uint32_t name;    // as it reads where it is not known who calls; kOurs: not to be recorded
  uint32_t number;  // of this code object, and of none that comes after it
  static constexpr uint32_t kCompiles = 1u << 31;  // in `number`: a compiler begins there
};
static_assert(sizeof(CodeId) == sizeof(void*));

struct Open {
  const void* frame;
  PyCodeObject* code;  // compared, and followed only while its frame is known to live
  uint32_t name;       // that it was begun with
  uint32_t number;
};

struct Stack {
  uint32_t depth = 0, capacity = 0, generation = 0, session = 0;
  Open* frames = nullptr;
  ~Stack() { std::free(frames); }
};

constexpr uint32_t kOurs = 1;  // name ids begin above 255

__thread Stack* t_stack __attribute__((tls_model("initial-exec")));
pthread_key_t g_stack_key;
uint32_t g_generation = 1, g_session = 1;
Py_ssize_t g_extra_index = -1;
std::string* g_package_dir = nullptr;

#if PY_VERSION_HEX >= 0x030c0000
int SetExtra(PyCodeObject* code, void* extra) {
  return PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), g_extra_index, extra);
}
Py_ssize_t RequestExtra() { return PyUnstable_Eval_RequestCodeExtraIndex(nullptr); }
#else
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
std::string NameText(PyCodeObject* code) {
  const char* file = Text(code->co_filename);
#if PY_VERSION_HEX >= 0x030b0000
  std::string text = Text(code->co_qualname);
#else
  std::string text = Text(code->co_name);
#endif
  const char* slash = std::strrchr(file, '/');
  return text + " (" + (slash == nullptr ? file : slash + 1) + ":" +
         std::to_string(code->co_firstlineno) + ")";
}

Callee PythonCallee(PyCodeObject* code, bool compiles) {
  return {compiles ? kCompilation : NameText(code), CROSSCUT_PYTHON, 0, PycallProbe()};
}

// The pending exception, which calls into CPython could touch, is what it was.
class KeepError {
 public:
  KeepError() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~KeepError() { PyErr_Restore(type_, value_, traceback_); }
  KeepError(const KeepError&) = delete;
  KeepError& operator=(const KeepError&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

__attribute__((noinline)) CodeId NameCode(PyCodeObject* code) {
  static uint32_t last_number = 0;
  const KeepError keep;
  const char* file = Text(code->co_filename);
  CodeId id = {kOurs, 0};
  if (g_package_dir->empty() ||
      std::strncmp(file, g_package_dir->data(), g_package_dir->size()) != 0) {
    const bool compiles = BeginsCompilation(file, Text(code->co_name));
    const Callee callee = PythonCallee(code, compiles);
    const uint32_t name = crosscut_intern(callee.text.data(), callee.text.size(), CROSSCUT_SPAN,
                                          callee.layer, callee.flags, callee.probe);
    // Without room for names it is not recorded.
    if (name != 0) id = {name, ++last_number | (compiles ? CodeId::kCompiles : 0)};
  }
  void* extra = nullptr;
  std::memcpy(&extra, &id, sizeof id);
  SetExtra(code, extra);
  return id;
}

// What co_extra points at: the same from 3.8 to 3.13, and no public type.
struct CodeExtras {
  Py_ssize_t size;
  void* values[1];
};

CodeId IdOf(PyCodeObject* code) {
  const auto* extras = static_cast<const CodeExtras*>(code->co_extra);
  void* const extra =
      extras != nullptr && extras->size > g_extra_index ? extras->values[g_extra_index] : nullptr;
  if (__builtin_expect(extra == nullptr, 0)) return NameCode(code);
  CodeId id;
  std::memcpy(&id, &extra, sizeof id);
  return id;
}

bool Compiles(const Open& open) { return (open.number & CodeId::kCompiles) != 0; }

// The name of a call of `code` at byte `at` of what is open on top; -1: not known.
uint32_t NameSite(const Open& top, int at, PyCodeObject* code, CodeId id) {
  if (at < 0) return id.name;
  const CallSite site = {top.number, at, id.name};
  const uint32_t known = FindSite(site);
  if (__builtin_expect(known != 0, 1)) return known;
  const KeepError keep;
  return AddSite(site, top.code, PythonCallee(code, (id.number & CodeId::kCompiles) != 0));
}

void PopTo(Stack* stack, uint32_t depth) {
  while (stack->depth > depth) crosscut_end_named(stack->frames[--stack->depth].name);
}

void DropEnded(Stack* stack, const std::vector<LiveFrame>& live) {
  uint32_t kept = 0;
  for (size_t i = 0; i < live.size() && kept < stack->depth; ++i) {
    if (live[i].code == stack->frames[kept].code) ++kept;
  }
  PopTo(stack, kept);
}

// What was called before the hooks came is open from here on.
void Adopt(Stack* stack, const std::vector<LiveFrame>& live) {
  int called_at = -1;
  for (const LiveFrame& one : live) {
    const CodeId id = IdOf(one.code);
    if (id.name == kOurs) continue;
    if (stack->depth == stack->capacity && !Grow(stack)) return;
    uint32_t name = id.name;
    if (stack->depth != 0) {
      const Open& top = stack->frames[stack->depth - 1];
      if (Compiles(top)) return;
      name = NameSite(top, called_at, one.code, id);
    }
    stack->frames[stack->depth++] = {one.frame, one.code, name, id.number};
    called_at = one.instruction;
    crosscut_begin_inline(name);
  }
}

// Before a begin. The stack is as the thread's frames are, but for the topmost.
__attribute__((noinline)) void SyncBegin(Stack* stack) {
  stack->generation = g_generation;
  const std::vector<LiveFrame> live = LiveFrames(true);
  if (stack->session != g_session) {
    stack->session = g_session;
    stack->depth = 0;
    return Adopt(stack, live);
  }
  DropEnded(stack, live);
}

// Before an end. What is open belongs to this session, and its frames live; a new session begins
// with a begin.
__attribute__((noinline)) void SyncEnd(Stack* stack, bool skip_top) {
  if (stack->session != g_session) {
    stack->depth = 0;
    return;
  }
  stack->generation = g_generation;
  DropEnded(stack, LiveFrames(skip_top));
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
  const CodeId id = IdOf(code);
  if (id.name == kOurs) return;
  Stack* stack = t_stack;
  if (__builtin_expect(stack == nullptr, 0) && (stack = NewStack()) == nullptr) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) SyncBegin(stack);
  if (__builtin_expect(stack->depth == stack->capacity, 0) && !Grow(stack)) return;
  uint32_t name = id.name;
  if (stack->depth != 0) {
    const Open& top = stack->frames[stack->depth - 1];
    if (Compiles(top)) return;
    name = NameSite(top, CallerInstruction(frame, top.frame), code, id);
  }
  stack->frames[stack->depth++] = {frame, code, name, id.number};
  crosscut_begin_inline(name);
}

bool EndTop(const PyCodeObject* code) {
  Stack* stack = t_stack;
  if (stack == nullptr || stack->depth == 0) return true;
  if (__builtin_expect(stack->generation != g_generation, 0)) return false;
  const Open& top = stack->frames[stack->depth - 1];
  // What began inside a compiler or a pause has no entry, and may be of the same code.
  if (__builtin_expect(top.code != code || Compiles(top) || !crosscut_recording(), 0)) {
    return false;
  }
  --stack->depth;
  crosscut_end_inline();
  return true;
}

void EndCall(const void* frame) {
  Stack* stack = t_stack;
  if (stack == nullptr || stack->depth == 0) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) {
    SyncEnd(stack, Find(stack, frame) == stack->depth);
    if (stack->depth == 0) return;
  }
  if (__builtin_expect(stack->frames[stack->depth - 1].frame == frame, 1)) {
    --stack->depth;
    crosscut_end_inline();
  } else {
    EndBelowTop(stack, frame);
  }
}

PrivateStack::PrivateStack() : theirs_(t_stack) {
  t_stack = nullptr;
  if (Stack* mine = NewStack()) {
    mine->generation = g_generation;
    mine->session = g_session;
  }
}

PrivateStack::~PrivateStack() {
  delete t_stack;
  t_stack = static_cast<Stack*>(theirs_);
  pthread_setspecific(g_stack_key, t_stack);
}

uint32_t NameNativeCall(uint32_t index) {
  const uint32_t plain = g_entries[index].name;
  const Stack* stack = t_stack;
  if (stack == nullptr || stack->depth == 0 || stack->generation != g_generation) return plain;
  const Open& top = stack->frames[stack->depth - 1];
  if (Compiles(top)) return 0;
  const int at = NativeCallerInstruction(top.frame);
  if (at < 0) return plain;
  const CallSite site = {top.number, at, plain};
  const uint32_t known = FindSite(site);
  if (__builtin_expect(known != 0, 1)) return known;
  const KeepError keep;
  const Label& label = LabelOf(index);
  return AddSite(site, top.code, {label.name, label.layer, label.flags, BoundaryProbe()});
}

}  // namespace crosscut::pycalls
