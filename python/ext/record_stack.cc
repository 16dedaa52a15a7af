#include "python/ext/record_stack.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "crosscut/crosscut.h"
#include "python/ext/record_shortfall.h"

namespace crosscut::python {
namespace {

enum class Left : uint8_t { kNo, kOpen, kEnded };  // open by another thread, which ended it

struct Open {
  uint32_t name;
  uint32_t begun;    // the id of its last part
  uint32_t part;     // the id under which it goes on; 0: not known yet
  const void* task;  // that opened it; null: none
  Left left;         // goes when this thread looks
};

// The variables of a task: crosscut_task_locals().
using Locals = std::array<int32_t, CROSSCUT_TASK_LOCALS>;

// What a suspended task has open, in order, and its variables.
struct Suspended {
  Suspended* next;
  const void* task;
  uint32_t count;
  Open* open;  // in the same block
  Locals locals;
};

struct OpenStack {
  OpenStack* next = nullptr;
  const void* task = nullptr;  // that runs
  Suspended* suspended = nullptr;
  uint32_t depth = 0;
  uint32_t capacity = 0;
  uint32_t left = 0;        // by other threads
  bool runs_tasks = false;  // then it is used without the GIL, too
  StateMutex mutex;         // where there is no GIL: of everything but `next`
  uint32_t generation = 0;
  Open* open = nullptr;
  uint32_t void_count = 0;    // of `voids`
  uint32_t* voids = nullptr;  // names that were open when another session began: they end unseen
};

// A pointer only: small enough for the static TLS block that dlopen may use.
__thread OpenStack* this_stack __attribute__((tls_model("initial-exec"))) = nullptr;

std::atomic<uint32_t> generation{1};  // changes when everything open becomes void

struct Threads {
  Mutex mutex;  // before a stack's own
  OpenStack* first = nullptr;
};
Threads& AllThreads() {
  static Threads* threads = new Threads;  // outlives every thread
  return *threads;
}

// Keeps other threads out of a stack that is used without the GIL.
class Guard {
 public:
  explicit Guard(OpenStack* stack) : stack_(stack), all_(kHasGil && stack->runs_tasks) {
    if (all_) AllThreads().mutex.lock();
    stack->mutex.lock();
  }
  ~Guard() {
    stack_->mutex.unlock();
    if (all_) AllThreads().mutex.unlock();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  OpenStack* const stack_;
  const bool all_;
};

void Remove(OpenStack* stack) {
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  for (OpenStack** at = &threads.first; *at != nullptr; at = &(*at)->next) {
    if (*at == stack) {
      *at = stack->next;
      break;
    }
  }
}

bool HasLocals(const Suspended* of) {
  return std::any_of(of->locals.begin(), of->locals.end(),
                     [](int32_t value) { return value != 0; });
}

void FreeSuspended(OpenStack* stack) {
  while (Suspended* gone = stack->suspended) {
    stack->suspended = gone->next;
    free(gone);
  }
}

// The end of what an earlier session knew is to end nothing in this one, on no thread. Without
// memory it is not remembered.
void MakeVoid(OpenStack* stack, const Open* open, uint32_t count) {
  if (count == 0) return;
  const size_t bytes = (size_t{stack->void_count} + count) * sizeof(uint32_t);
  auto* voids = static_cast<uint32_t*>(realloc(stack->voids, bytes));
  if (voids == nullptr) return;
  stack->voids = voids;
  for (uint32_t i = 0; i < count; ++i) {
    if (open[i].left == Left::kNo) voids[stack->void_count++] = open[i].name;
  }
}

bool EndVoid(OpenStack* stack, uint32_t name) {
  uint32_t* const end = stack->voids + stack->void_count;
  uint32_t* const found = std::find(stack->voids, end, name);
  if (found == end) return false;
  *found = *(end - 1);
  --stack->void_count;
  return true;
}

// A new session: none has anything open, but calls that are under way go on.
void ForgetSuspended(OpenStack* stack) {
  for (Suspended** at = &stack->suspended; *at != nullptr;) {
    Suspended* of = *at;
    MakeVoid(stack, of->open, of->count);
    of->count = 0;
    if (HasLocals(of)) {
      at = &of->next;
    } else {
      *at = of->next;
      free(of);
    }
  }
}

// Frees the thread's stack when the thread ends (without the GIL).
struct ThreadEnd {
  OpenStack* stack = nullptr;
  ~ThreadEnd() {
    if (stack == nullptr) return;
    Remove(stack);
    this_stack = nullptr;
    FreeSuspended(stack);
    free(stack->open);
    free(stack->voids);
    delete stack;
  }
};
thread_local ThreadEnd thread_end;

// `python`: the thread runs the program's Python.
OpenStack* MakeStack(bool python) {
  auto* stack = new (std::nothrow) OpenStack;
  if (stack == nullptr) return nullptr;
  stack->generation = generation;
  thread_end.stack = stack;
  this_stack = stack;
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  stack->next = threads.first;
  threads.first = stack;
  if (python) crosscut_base(CROSSCUT_PYTHON);
  return stack;
}

bool Grow(OpenStack* stack) {
  const uint32_t capacity = stack->capacity == 0 ? 32 : stack->capacity * 2;
  auto* open = static_cast<Open*>(realloc(stack->open, capacity * sizeof(Open)));
  if (open == nullptr) return false;
  stack->open = open;
  stack->capacity = capacity;
  return true;
}

// Before an instant at which it may be cut. A name's first part is interned and written, which
// takes microseconds or waits for room.
void PrepareToGoOn(Open* open) {
  if (open->part == 0) open->part = crosscut_goes_on(open->name);
}

void BeginAgain(Open* open, uint64_t tick) {
  if (open->part != 0) open->begun = open->part;
  crosscut_begin_at(open->begun, tick);
}

// From place `from` on: ends those of which `goes(open)` and gives them to `take(open)`. The others
// are cut and go on. All at one instant, because whatever a thread waits for in between would count
// for what is around them.
template <class Goes, class Take>
void Cut(OpenStack* stack, uint32_t from, const Goes& goes, const Take& take) {
  for (uint32_t i = from; i < stack->depth; ++i) PrepareToGoOn(&stack->open[i]);
  const uint64_t tick = crosscut_now();
  for (uint32_t i = stack->depth; i-- > from;) crosscut_end_named_at(stack->open[i].begun, tick);
  uint32_t kept = from;
  for (uint32_t i = from; i < stack->depth; ++i) {
    const Open& open = stack->open[i];
    if (goes(open)) {
      take(open);
      continue;
    }
    stack->open[kept] = open;
    BeginAgain(&stack->open[kept++], tick);
  }
  stack->depth = kept;
}

// Ends open[at] and takes it out.
void TakeOut(OpenStack* stack, uint32_t at) {
  const Open* const gone = &stack->open[at];
  Cut(
      stack, at, [gone](const Open& open) { return &open == gone; }, [](const Open&) {});
}

// One that ended elsewhere: its end is told there.
void Forget(OpenStack* stack, uint32_t at) {
  --stack->depth;
  std::copy(stack->open + at + 1, stack->open + stack->depth + 1, stack->open + at);
}

// Makes the stack fit for the fast path: nothing of an earlier session, nothing that others left,
// room for one more. False without memory.
bool Settle(OpenStack* stack) {
  if (stack->generation != generation) {
    stack->generation = generation;
    MakeVoid(stack, stack->open, stack->depth);
    stack->depth = stack->left = 0;
    ForgetSuspended(stack);
  }
  for (uint32_t i = stack->depth; i-- > 0 && stack->left > 0;) {
    const Left left = stack->open[i].left;
    if (left == Left::kOpen) TakeOut(stack, i);
    if (left == Left::kEnded) Forget(stack, i);
    if (left != Left::kNo) --stack->left;
  }
  return stack->depth < stack->capacity || Grow(stack);
}

// Ends one of that name that another thread has open: false where there is none. Without the GIL
// only of threads that run tasks.
bool LeaveElsewhere(uint32_t name, Left left, bool gil) {
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  for (OpenStack* stack = threads.first; stack != nullptr; stack = stack->next) {
    if (stack == this_stack || !(gil || !kHasGil || stack->runs_tasks)) continue;
    const std::lock_guard own(stack->mutex);
    if (stack->generation != generation) continue;
    for (uint32_t i = stack->depth; i > 0; --i) {
      Open& open = stack->open[i - 1];
      if (open.name != name || open.left != Left::kNo) continue;
      open.left = left;
      ++stack->left;
      return true;
    }
  }
  return false;
}

// The innermost open one of that name, rather of the task that runs than around it: its place + 1;
// 0: none.
uint32_t Find(const OpenStack* stack, uint32_t name) {
  uint32_t found = 0;
  for (uint32_t i = stack->depth; i > 0; --i) {
    const Open& open = stack->open[i - 1];
    if (open.name != name || open.left != Left::kNo) continue;
    if (open.task == stack->task) return i;
    if (found == 0) found = i;
  }
  return found;
}

// One of a task that is suspended, and ended already: a task that is thrown away.
bool CloseSuspended(OpenStack* stack, uint32_t name) {
  for (Suspended** at = &stack->suspended; *at != nullptr; at = &(*at)->next) {
    Suspended* of = *at;
    for (uint32_t i = of->count; i > 0; --i) {
      if (of->open[i - 1].name != name) continue;
      for (; i < of->count; ++i) of->open[i - 1] = of->open[i];
      if (--of->count == 0 && !HasLocals(of)) {
        *at = of->next;
        free(of);
      }
      return true;
    }
  }
  return false;
}

// On this thread. Not innermost, or something to settle first.
bool CloseHere(OpenStack* stack, uint32_t name) {
  Settle(stack);
  if (const uint32_t place = Find(stack, name)) {
    TakeOut(stack, place - 1);
    return true;
  }
  return CloseSuspended(stack, name) || EndVoid(stack, name);
}

// Lasting until that thread looks.
Shortfall ends_elsewhere("ends of operations",
                         "operation was ended by another thread than the one that began it: it "
                         "lasts until that thread next begins or ends one",
                         "operations were ended by other threads than those that began them: they "
                         "last until that thread next begins or ends one");

// Of no operation that is open on this thread.
void CloseElsewhere(uint32_t name, Tally* unseen) {
  if (unseen != nullptr && unseen->Take()) return;
  if (LeaveElsewhere(name, Left::kOpen, /*gil=*/true)) ends_elsewhere.Add();
}

// Without memory the task's are closed for good.
void Suspend(OpenStack* stack, const Locals& locals) {
  const auto of_task = [stack](const Open& open) { return open.task == stack->task; };
  const Open *const begin = stack->open, *const end = stack->open + stack->depth;
  const auto count = static_cast<uint32_t>(std::count_if(begin, end, of_task));
  if (count == 0 && locals == Locals{}) return;
  auto* of = static_cast<Suspended*>(malloc(sizeof(Suspended) + count * sizeof(Open)));
  Open* at = of == nullptr ? nullptr : reinterpret_cast<Open*>(of + 1);
  if (of != nullptr) of->open = at;
  const auto first = static_cast<uint32_t>(std::find_if(begin, end, of_task) - begin);
  Cut(stack, first, of_task, [&at](const Open& open) {
    if (at != nullptr) *at++ = open;
  });
  if (of == nullptr) return;
  of->task = stack->task;
  of->count = count;
  of->locals = locals;
  of->next = stack->suspended;
  stack->suspended = of;
}

// Returns the task's variables.
Locals Resume(OpenStack* stack) {
  Locals locals{};
  for (Suspended** at = &stack->suspended; *at != nullptr; at = &(*at)->next) {
    Suspended* of = *at;
    if (of->task != stack->task) continue;
    *at = of->next;
    for (uint32_t i = 0; i < of->count; ++i) PrepareToGoOn(&of->open[i]);
    const uint64_t tick = crosscut_now();
    for (uint32_t i = 0; i < of->count; ++i) {
      if (stack->depth == stack->capacity && !Grow(stack)) break;
      stack->open[stack->depth] = of->open[i];
      BeginAgain(&stack->open[stack->depth++], tick);
    }
    locals = of->locals;
    free(of);
    break;
  }
  return locals;
}

void Push(OpenStack* stack, uint32_t name) {
  stack->open[stack->depth++] = {name, name, 0, stack->task, Left::kNo};
  crosscut_begin_inline(name);
}

// ---- What crosscut_open() and crosscut_close() lead to: no GIL ----

int OpenInTask(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr || !stack->runs_tasks) return 0;
  const Guard guard(stack);
  if (Settle(stack)) Push(stack, name);
  return 1;
}

int CloseInTask(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr || !stack->runs_tasks) return 0;
  const Guard guard(stack);
  return CloseHere(stack, name) ? 1 : 0;
}

void ForgetInTask(uint32_t name) { LeaveElsewhere(name, Left::kEnded, /*gil=*/false); }

const crosscut_tasks kTasks = {sizeof kTasks, OpenInTask, CloseInTask, ForgetInTask};

// The stack of this thread as one that runs tasks; null where there is none, and nothing to record.
OpenStack* StackOfTasks() {
  OpenStack* stack = this_stack;
  if (stack == nullptr) {
    if (crosscut_this_thread->enabled == 0 || (stack = MakeStack(true)) == nullptr) return nullptr;
  }
  if (!stack->runs_tasks) {
    const std::lock_guard lock(AllThreads().mutex);
    stack->runs_tasks = true;
    crosscut_follow_tasks(&kTasks);
  }
  return stack;
}

}  // namespace

void OpenOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr && (stack = MakeStack(true)) == nullptr) return;
  const Guard guard(stack);
  if (stack->generation != generation || stack->left != 0 || stack->depth == stack->capacity) {
    if (!Settle(stack)) return;
  }
  Push(stack, name);
}

void CloseOperation(uint32_t name, Tally* unseen) {
  if (OpenStack* stack = this_stack) {
    const Guard guard(stack);
    if (stack->depth != 0 && stack->left == 0 && stack->generation == generation) {
      const Open& innermost = stack->open[stack->depth - 1];
      if (innermost.name == name && innermost.task == stack->task) {
        --stack->depth;
        crosscut_end_named(innermost.begun);
        return;
      }
    }
    if (CloseHere(stack, name)) return;
  }
  CloseElsewhere(name, unseen);
}

bool EnterOperation(uint32_t name) {
  if (crosscut_this_thread->enabled == 0) return false;
  OpenOperation(name);
  return true;
}

void ExitOperation(uint32_t name, Tally* unseen) {
  const OpenStack* stack = this_stack;
  const bool here = stack != nullptr &&
                    (stack->depth != 0 || stack->suspended != nullptr || stack->void_count != 0);
  if (here || crosscut_this_thread->enabled != 0) {
    CloseOperation(name, unseen);
  } else if (unseen != nullptr) {
    unseen->Take();
  }
}

bool IsOpen(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr) return false;
  const Guard guard(stack);
  return stack->generation == generation && Find(stack, name) != 0;
}

uint32_t OpenDepth() {
  const OpenStack* stack = this_stack;
  return stack != nullptr && stack->generation == generation ? stack->depth : 0;
}

void ThisThreadRunsTasks() {
  ThisThreadRunsPython();
  StackOfTasks();
}

const void* EnterTask(const void* task) {
  OpenStack* stack = StackOfTasks();
  if (stack == nullptr) return nullptr;
  const Guard guard(stack);
  const void* const before = stack->task;
  stack->task = task;
  if (stack->suspended != nullptr && Settle(stack)) Resume(stack);
  return before;
}

void LeaveTask(const void* before) {
  OpenStack* stack = this_stack;
  if (stack == nullptr || stack->task == before) return;
  const Guard guard(stack);
  if (stack->depth > 0 && Settle(stack)) Suspend(stack, {});
  stack->task = before;
}

void SwitchTask(const void* from, const void* to) {
  OpenStack* stack = StackOfTasks();
  if (stack == nullptr) return;
  const Guard guard(stack);
  if (!Settle(stack)) return;
  if (stack->task == nullptr) {
    for (uint32_t i = 0; i < stack->depth; ++i) stack->open[i].task = from;
    stack->task = from;
  }
  int32_t* addresses[CROSSCUT_TASK_LOCALS];
  const auto count = static_cast<size_t>(crosscut_task_locals(addresses));
  Locals locals{};
  for (size_t i = 0; i < count; ++i) locals[i] = *addresses[i];
  Suspend(stack, locals);
  stack->task = to;
  locals = Resume(stack);
  for (size_t i = 0; i < count; ++i) *addresses[i] = locals[i];
}

void ForgetOpenOperations() { ++generation; }

void BeforeFork() { AllThreads().mutex.lock(); }
void AfterForkInParent() { AllThreads().mutex.unlock(); }

void AfterForkInChild() {
  Threads& threads = AllThreads();
  threads.first = this_stack;
  if (this_stack != nullptr) this_stack->next = nullptr;
  threads.mutex.unlock();
  shared_mutex.ForgetHolder();
  ForgetOpenOperations();
  // The child's first event: where the recorder follows forks, it opens the child's own log.
  if (crosscut_recording()) {
    crosscut_instant(crosscut_intern("forked", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE, 0, 0));
    crosscut_base(CROSSCUT_PYTHON);
  }
}

void ThisThreadRunsPython() {
  if (this_stack == nullptr) MakeStack(true);
}

void ThisThreadIsOurs() {
  if (this_stack == nullptr) MakeStack(false);
}

}  // namespace crosscut::python
