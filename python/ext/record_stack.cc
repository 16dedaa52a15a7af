#include "python/ext/record_stack.h"

#include <cstdlib>
#include <mutex>
#include <new>

#include "crosscut/crosscut.h"

namespace crosscut::python {
namespace {

struct Open {
  uint32_t name;
  uint32_t begun;    // the id of its last part
  const void* task;  // that opened it; null: none
  bool abandoned;    // another thread has closed it: ends when this one looks
};

// What a suspended task has open, in order.
struct Suspended {
  Suspended* next;
  const void* task;
  uint32_t count;
  Open* open;  // in the same block
};

struct OpenStack {
  OpenStack* next = nullptr;
  const void* task = nullptr;  // that runs
  Suspended* suspended = nullptr;
  uint32_t depth = 0;
  uint32_t capacity = 0;
  uint32_t abandoned = 0;
  uint32_t generation = 0;
  Open* open = nullptr;
};

// A pointer only: small enough for the static TLS block that dlopen may use.
__thread OpenStack* this_stack __attribute__((tls_model("initial-exec"))) = nullptr;

uint32_t generation = 1;  // changes when everything open becomes void

struct Threads {
  std::mutex mutex;
  OpenStack* first = nullptr;
};
Threads& AllThreads() {
  static Threads* threads = new Threads;  // outlives every thread
  return *threads;
}

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

void ForgetSuspended(OpenStack* stack) {
  while (Suspended* gone = stack->suspended) {
    stack->suspended = gone->next;
    free(gone);
  }
}

// Frees the thread's stack when the thread ends (without the GIL).
struct ThreadEnd {
  OpenStack* stack = nullptr;
  ~ThreadEnd() {
    if (stack == nullptr) return;
    Remove(stack);
    this_stack = nullptr;
    ForgetSuspended(stack);
    free(stack->open);
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

void BeginAgain(Open* open) {
  if (const uint32_t part = crosscut_goes_on(open->name)) open->begun = part;
  crosscut_begin_inline(open->begun);
}

// Ends open[at] and takes it out; those above it are cut and go on.
Open TakeOut(OpenStack* stack, uint32_t at) {
  const Open taken = stack->open[at];
  for (uint32_t i = stack->depth; i-- > at;) crosscut_end_named(stack->open[i].begun);
  --stack->depth;
  for (uint32_t i = at; i < stack->depth; ++i) {
    stack->open[i] = stack->open[i + 1];
    BeginAgain(&stack->open[i]);
  }
  if (taken.abandoned) --stack->abandoned;
  return taken;
}

// Makes the stack fit for the fast path: nothing of an earlier session, nothing abandoned, room for
// one more. False without memory.
bool Settle(OpenStack* stack) {
  if (stack->generation != generation) {
    stack->generation = generation;
    stack->depth = stack->abandoned = 0;
    ForgetSuspended(stack);
  }
  for (uint32_t i = stack->depth; i-- > 0 && stack->abandoned > 0;) {
    if (stack->open[i].abandoned) TakeOut(stack, i);
  }
  return stack->depth < stack->capacity || Grow(stack);
}

void AbandonElsewhere(uint32_t name) {
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  for (OpenStack* stack = threads.first; stack != nullptr; stack = stack->next) {
    if (stack == this_stack || stack->generation != generation) continue;
    for (uint32_t i = stack->depth; i > 0; --i) {
      Open& open = stack->open[i - 1];
      if (open.name != name || open.abandoned) continue;
      open.abandoned = true;
      ++stack->abandoned;
      return;
    }
  }
}

// The innermost open one of that name, rather of the task that runs than around it: its place + 1;
// 0: none.
uint32_t Find(const OpenStack* stack, uint32_t name) {
  uint32_t found = 0;
  for (uint32_t i = stack->depth; i > 0; --i) {
    const Open& open = stack->open[i - 1];
    if (open.name != name || open.abandoned) continue;
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
      if (--of->count == 0) {
        *at = of->next;
        free(of);
      }
      return true;
    }
  }
  return false;
}

// Not innermost, or not here, or something to settle first.
void CloseSlow(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack != nullptr) {
    Settle(stack);
    if (const uint32_t place = Find(stack, name)) {
      TakeOut(stack, place - 1);
      return;
    }
    if (CloseSuspended(stack, name)) return;
  }
  AbandonElsewhere(name);
}

// Without memory the task's are closed for good.
void Suspend(OpenStack* stack) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < stack->depth; ++i) count += stack->open[i].task == stack->task;
  if (count == 0) return;
  auto* of = static_cast<Suspended*>(malloc(sizeof(Suspended) + count * sizeof(Open)));
  if (of != nullptr) of->open = reinterpret_cast<Open*>(of + 1);
  uint32_t left = count;
  for (uint32_t i = stack->depth; i-- > 0 && left > 0;) {
    if (stack->open[i].task != stack->task) continue;
    const Open open = TakeOut(stack, i);
    if (of != nullptr) of->open[--left] = open;
  }
  if (of == nullptr) return;
  of->task = stack->task;
  of->count = count;
  of->next = stack->suspended;
  stack->suspended = of;
}

void Resume(OpenStack* stack) {
  for (Suspended** at = &stack->suspended; *at != nullptr; at = &(*at)->next) {
    Suspended* of = *at;
    if (of->task != stack->task) continue;
    *at = of->next;
    for (uint32_t i = 0; i < of->count; ++i) {
      if (stack->depth == stack->capacity && !Grow(stack)) break;
      stack->open[stack->depth] = of->open[i];
      BeginAgain(&stack->open[stack->depth++]);
    }
    free(of);
    return;
  }
}

}  // namespace

void OpenOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr && (stack = MakeStack(true)) == nullptr) return;
  if (stack->generation != generation || stack->abandoned != 0 || stack->depth == stack->capacity) {
    if (!Settle(stack)) return;
  }
  stack->open[stack->depth++] = {name, name, stack->task, false};
  crosscut_begin_inline(name);
}

void CloseOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack != nullptr && stack->depth != 0 && stack->abandoned == 0 &&
      stack->generation == generation) {
    const Open& innermost = stack->open[stack->depth - 1];
    if (innermost.name == name && innermost.task == stack->task) {
      --stack->depth;
      crosscut_end_named(innermost.begun);
      return;
    }
  }
  CloseSlow(name);
}

bool EnterOperation(uint32_t name) {
  if (crosscut_this_thread->enabled == 0) return false;
  OpenOperation(name);
  return true;
}

void ExitOperation(uint32_t name) {
  const OpenStack* stack = this_stack;
  const bool here = stack != nullptr && (stack->depth != 0 || stack->suspended != nullptr);
  if (here || crosscut_this_thread->enabled != 0) CloseOperation(name);
}

bool IsOpen(uint32_t name) {
  const OpenStack* stack = this_stack;
  return stack != nullptr && stack->generation == generation && Find(stack, name) != 0;
}

uint32_t OpenDepth() {
  const OpenStack* stack = this_stack;
  return stack != nullptr && stack->generation == generation ? stack->depth : 0;
}

const void* EnterTask(const void* task) {
  OpenStack* stack = this_stack;
  if (stack == nullptr) {
    if (crosscut_this_thread->enabled == 0 || (stack = MakeStack(true)) == nullptr) return nullptr;
  }
  const void* const before = stack->task;
  stack->task = task;
  if (stack->suspended != nullptr && Settle(stack)) Resume(stack);
  return before;
}

void LeaveTask(const void* before) {
  OpenStack* stack = this_stack;
  if (stack == nullptr || stack->task == before) return;
  if (stack->depth > 0 && Settle(stack)) Suspend(stack);
  stack->task = before;
}

void SwitchTask(const void* from, const void* to) {
  OpenStack* stack = this_stack;
  if (stack == nullptr) {
    if (crosscut_this_thread->enabled == 0 || (stack = MakeStack(true)) == nullptr) return;
  }
  if (!Settle(stack)) return;
  if (stack->task == nullptr) {
    for (uint32_t i = 0; i < stack->depth; ++i) stack->open[i].task = from;
    stack->task = from;
  }
  Suspend(stack);
  stack->task = to;
  Resume(stack);
}

void ForgetOpenOperations() { ++generation; }

void BeforeFork() { AllThreads().mutex.lock(); }
void AfterForkInParent() { AllThreads().mutex.unlock(); }

void AfterForkInChild() {
  Threads& threads = AllThreads();
  threads.first = this_stack;
  if (this_stack != nullptr) this_stack->next = nullptr;
  threads.mutex.unlock();
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
