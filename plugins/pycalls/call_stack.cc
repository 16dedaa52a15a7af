#include "call_stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "builtins.h"
#include "call_sites.h"
#include "compilers.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "entries.h"
#include "frames.h"
#include "patches.h"

namespace crosscut::pycalls {

uint32_t g_session = 1, g_noticed = 0;
bool g_thunks_in = false;
Follows g_follows = Follows::kNothing;
bool g_builtins = false;

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

struct Native {
  const void* token;
  const void* place;  // of the frame that calls it
  uint32_t name;
  uint32_t session;  // that knows of its begin
  bool is_builtin;   // `token` is the frame that calls it
};

struct Stack {
  uint32_t depth = 0, capacity = 0, generation = 0;
  Open* frames = nullptr;
  uint32_t in_flight = 0, native_capacity = 0;
  Native* natives = nullptr;
  ~Stack() {
    std::free(frames);
    std::free(natives);
  }
};

constexpr uint32_t kOurs = 1;  // name ids begin above 255

__thread Stack* t_stack __attribute__((tls_model("initial-exec")));
pthread_key_t g_stack_key;
uint32_t g_generation = 1;
Py_ssize_t g_extra_index = -1;
std::string* g_package_dir = nullptr;
FilesByName* g_files = nullptr;

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

template <class One>
bool Grow(One** all, uint32_t* capacity, uint32_t least) {
  const uint32_t more = *capacity == 0 ? least : 2 * *capacity;
  void* grown = std::realloc(*all, more * sizeof(One));
  if (grown == nullptr) return false;
  *all = static_cast<One*>(grown);
  *capacity = more;
  return true;
}

bool HasRoom(Stack* stack) {
  return __builtin_expect(stack->depth < stack->capacity, 1) ||
         Grow(&stack->frames, &stack->capacity, 128);
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
  return {compiles ? kCompilation : NameText(code), CROSSCUT_PYTHON, CROSSCUT_FRAME, PycallProbe()};
}

void NoteFile(const std::string& name, const char* file) {
  const auto [at, added] = g_files->emplace(name, file);
  if (!added && at->second != file) at->second.clear();
}

__attribute__((noinline)) CodeId NameCode(PyCodeObject* code) {
  static uint32_t last_number = 0;
  const PendingException kept;
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
    if (name != 0) NoteFile(callee.text, file);
  }
  void* extra = nullptr;
  std::memcpy(&extra, &id, sizeof id);
  SetExtra(code, extra);
  return id;
}

// What co_extra points at: the same from 3.8 to 3.15, and no public type.
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
  const PendingException kept;
  return AddSite(site, top.code, PythonCallee(code, (id.number & CodeId::kCompiles) != 0));
}

// What a thread's stack becomes, told as it is made.
class Meeting {
 public:
  explicit Meeting(Stack* stack) : stack_(stack) {}

  // What the hook sees has ended with it.
  void ForgetBuiltins() {
    Native* const end = stack_->natives + stack_->in_flight;
    stack_->in_flight = static_cast<uint32_t>(
        std::remove_if(stack_->natives, end, [](const Native& one) { return one.is_builtin; }) -
        stack_->natives);
  }

  void TakeNatives(const void* place) {
    for (uint32_t i = next_; i < stack_->in_flight; ++i) {
      if (stack_->natives[i].place != place) continue;
      told_.push_back({stack_->natives[i].name, StillIn(stack_->natives[i].session)});
      stack_->natives[i].session = g_session;
      next_ = i + 1;
    }
  }

  void TakeFrame(const LiveFrame& one) {
    const CodeId id = IdOf(one.code);
    if (id.name == kOurs || compiles_ || !HasRoom(stack_)) return;
    uint32_t name = id.name;
    if (stack_->depth != 0) {
      name = NameSite(stack_->frames[stack_->depth - 1], called_at_, one.code, id);
    }
    stack_->frames[stack_->depth++] = {one.frame, one.code, name, id.number};
    compiles_ = Compiles(stack_->frames[stack_->depth - 1]);
    called_at_ = one.instruction;
    told_.push_back({name, false});
  }

  void Tell() const {
    auto to_come = static_cast<uint32_t>(told_.size());
    for (const Told& one : told_) crosscut_running(one.name, --to_come, one.begun);
  }

 private:
  struct Told {
    uint32_t name;
    bool begun;
  };
  Stack* const stack_;
  std::vector<Told> told_;
  uint32_t next_ = 0;
  int called_at_ = -1;
  bool compiles_ = false;
};

// The stack as the thread's frames are, without the topmost where `skip_top`.
__attribute__((noinline)) void Meet(Stack* stack, bool skip_top) {
  const PendingException kept;
  stack->generation = g_generation;
  stack->depth = 0;
  const std::vector<LiveFrame> live = LiveFrames(skip_top);
  stack->depth = 0;  // a finalizer may have run
  Meeting meeting(stack);
  meeting.ForgetBuiltins();
  meeting.TakeNatives(nullptr);
  for (const LiveFrame& one : live) {
    meeting.TakeFrame(one);
    meeting.TakeNatives(one.place);
  }
  meeting.Tell();
}

// Another stack than the one that was left.
bool IsOther(const Stack* stack) {
  return stack->depth != 0 && !Runs(stack->frames[stack->depth - 1].frame);
}

// An end of a frame that is not on top: of ours, of what began unrecorded, or of another stack.
__attribute__((noinline)) void EndElsewhere(Stack* stack, const void* frame) {
  if (!IsOther(stack)) return;
  Meet(stack, false);
  if (stack->depth == 0 || stack->frames[stack->depth - 1].frame != frame) return;
  --stack->depth;
  crosscut_end_inline();
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
  g_files = new FilesByName;
  g_extra_index = RequestExtra();
  return g_extra_index >= 0 && pthread_key_create(&g_stack_key, DropStack) == 0 &&
         pthread_atfork(nullptr, nullptr, NextSession) == 0;
}

const FilesByName& FilesOfNames() { return *g_files; }

void NextGeneration() { ++g_generation; }

void MeetThisThread() {
  if (!crosscut_recording()) return;
  Stack* stack = t_stack;
  if (stack != nullptr || (stack = NewStack()) != nullptr) Meet(stack, false);
}

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
  if (__builtin_expect(stack->generation != g_generation, 0)) Meet(stack, true);
  if (!HasRoom(stack)) return;
  uint32_t name = id.name;
  if (stack->depth != 0) {
    int at = CallerInstruction(frame, stack->frames[stack->depth - 1].frame);
    if (__builtin_expect(at < 0, 0) && IsOther(stack)) {
      Meet(stack, true);
      if (!HasRoom(stack)) return;
      if (stack->depth != 0) at = CallerInstruction(frame, stack->frames[stack->depth - 1].frame);
    }
    if (stack->depth != 0) {
      const Open& top = stack->frames[stack->depth - 1];
      if (Compiles(top)) return;
      name = NameSite(top, at, code, id);
    }
  }
  stack->frames[stack->depth++] = {frame, code, name, id.number};
  crosscut_begin_inline(name);
}

bool EndTop(const PyCodeObject* code) {
  Stack* stack = t_stack;
  if (__builtin_expect(stack == nullptr || stack->generation != g_generation, 0)) return false;
  if (stack->depth == 0) return true;
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
  if (__builtin_expect(stack == nullptr || stack->generation != g_generation, 0)) {
    MeetThisThread();
    stack = t_stack;
  }
  if (stack == nullptr || stack->depth == 0) return;
  if (__builtin_expect(stack->frames[stack->depth - 1].frame == frame, 1)) {
    --stack->depth;
    crosscut_end_inline();
  } else {
    EndElsewhere(stack, frame);
  }
}

PrivateStack::PrivateStack() : theirs_(t_stack) {
  t_stack = nullptr;
  if (Stack* mine = NewStack()) {
    mine->generation = g_generation;
  }
}

PrivateStack::~PrivateStack() {
  delete t_stack;
  t_stack = static_cast<Stack*>(theirs_);
  pthread_setspecific(g_stack_key, t_stack);
}

namespace {

uint32_t NameNative(const Stack* stack, uint32_t index) {
  const uint32_t plain = g_entries[index].name;
  if (stack->depth == 0) return plain;
  const Open& top = stack->frames[stack->depth - 1];
  if (Compiles(top)) return 0;
  const int at = NativeCallerInstruction(top.frame);
  if (at < 0) return plain;
  const CallSite site = {top.number, at, plain};
  const uint32_t known = FindSite(site);
  if (__builtin_expect(known != 0, 1)) return known;
  const PendingException kept;
  const Label& label = LabelOf(index);
  return AddSite(site, top.code, {label.name, label.layer, label.flags, BoundaryProbe()});
}

// The innermost with that token; the number of natives in flight where there is none.
uint32_t FindNative(const Stack* stack, const void* token) {
  for (uint32_t i = stack->in_flight; i-- > 0;) {
    if (stack->natives[i].token == token) return i;
  }
  return stack->in_flight;
}

bool HasRoomForNative(Stack* stack) {
  return stack->in_flight < stack->native_capacity ||
         Grow(&stack->natives, &stack->native_capacity, 16);
}

// The native call at `at` is in flight no more. Returns whether its end is to be marked.
bool Land(Stack* stack, uint32_t at) {
  const bool known = StillIn(stack->natives[at].session);
  for (--stack->in_flight; at < stack->in_flight; ++at) {
    stack->natives[at] = stack->natives[at + 1];
  }
  return known;
}

}  // namespace

uint32_t BeginNative(uint32_t index, const void* token) {
  Stack* stack = t_stack;
  uint32_t name = g_entries[index].name;
  if (__builtin_expect(stack == nullptr, 0) && (stack = NewStack()) == nullptr) return name;
  if (g_follows == Follows::kAllCalls) {
    if (__builtin_expect(stack->generation != g_generation, 0)) MeetThisThread();
    name = NameNative(stack, index);
    if (name == 0) return 0;
  }
  if (HasRoomForNative(stack)) {
    stack->natives[stack->in_flight++] = {token, PlaceOfTop(), name, g_session, false};
  }
  return name;
}

void RenameNative(const void* token, uint32_t name) {
  const uint32_t at = t_stack == nullptr ? 0 : FindNative(t_stack, token);
  if (t_stack != nullptr && at < t_stack->in_flight) t_stack->natives[at].name = name;
}

bool EndNative(const void* token) {
  Stack* stack = t_stack;
  if (stack == nullptr) return false;
  if (__builtin_expect(stack->generation != g_generation, 0) && g_follows == Follows::kAllCalls) {
    MeetThisThread();
  }
  const uint32_t at = FindNative(stack, token);
  if (at == stack->in_flight) return false;
  return Land(stack, at);
}

void BeginBuiltin(const void* frame, PyCodeObject* code, PyObject* builtin) {
  if (!crosscut_recording() || !IsBuiltin(builtin)) return;
  const uint32_t name = NameBuiltin(builtin);
  if (name == 0 || IdOf(code).name == kOurs) return;
  Stack* stack = t_stack;
  if (__builtin_expect(stack == nullptr, 0) && (stack = NewStack()) == nullptr) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) Meet(stack, false);
  if (stack->depth != 0 && Compiles(stack->frames[stack->depth - 1])) return;
  if (!HasRoomForNative(stack)) return;
  stack->natives[stack->in_flight++] = {frame, nullptr, name, g_session, true};
  crosscut_begin_inline(name);
}

void EndBuiltin(const void* frame) {
  Stack* stack = t_stack;
  if (stack == nullptr || stack->in_flight == 0) return;
  if (__builtin_expect(stack->generation != g_generation, 0)) MeetThisThread();
  const uint32_t at = FindNative(stack, frame);
  if (at < stack->in_flight && stack->natives[at].is_builtin && Land(stack, at)) {
    crosscut_end_inline();
  }
}

}  // namespace crosscut::pycalls
