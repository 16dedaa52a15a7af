#include "python/ext/record_tasks.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "crosscut/crosscut.h"
#include "crosscut/fork_safe_mutex.h"
#include "crosscut/in_python.h"
#include "python/ext/record_open.h"
#include "python/ext/record_shortfall.h"
#include "python/ext/record_stack.h"

namespace crosscut::python {
namespace {

// What a suspended task has open, in order, and its variables.
struct Suspended {
  PyObject* weak = nullptr;  // to the task
  uint64_t since = 0;        // more: suspended later
  std::vector<Open> open;
  Locals locals{};
};

}  // namespace

struct SuspendedTasks {
  std::unordered_map<const PyObject*, Suspended> by_address;
  // The same, suspended last first, for as long as none goes on and none is added; and which was
  // closed in last. Many that are thrown away at once go in the order of their making.
  std::vector<Suspended*> by_time;
  size_t closed_in = 0;
  size_t sweep_at = 64;
  SuspendedTasks* next = nullptr;  // of a thread that ended, until somebody has the GIL
};

namespace {

struct Ended {
  ForkSafeMutex mutex;
  SuspendedTasks* first = nullptr;
};
Ended ended;  // of threads that are

Shortfall ends_with_slice("callbacks of asyncio",
                          "operation ended with the callback that began it: what that is bound to "
                          "takes no weak reference",
                          "operations ended with the callbacks that began them: what these are "
                          "bound to takes no weak reference");

bool IsGone(PyObject* weak) { return !Referent(weak); }

void FreeThoseOfEndedThreads() {
  SuspendedTasks* first;
  {
    const std::lock_guard lock(ended.mutex);
    first = std::exchange(ended.first, nullptr);
  }
  while (SuspendedTasks* one = first) {
    first = one->next;
    for (const auto& [task, of] : one->by_address) Py_DECREF(of.weak);
    delete one;
  }
}

// Forgets the tasks that are gone. A weak reference's end runs no code.
void Sweep(OpenStack* stack) {
  auto& all = stack->suspended->by_address;
  stack->suspended->by_time.clear();
  for (auto at = all.begin(); at != all.end();) {
    const Suspended& of = at->second;
    if (!IsGone(of.weak)) {
      ++at;
      continue;
    }
    MakeVoid(stack, of.open.data(), of.open.size());
    Py_DECREF(of.weak);
    at = all.erase(at);
  }
  stack->suspended->sweep_at = 64 + 2 * all.size();
}

// What `task` has open, taken out; nothing where what is kept is of one that lay there before it.
Suspended Take(OpenStack* stack, PyObject* task) {
  if (stack->suspended == nullptr) return {};
  auto& all = stack->suspended->by_address;
  const auto at = all.find(task);
  if (at == all.end()) return {};
  stack->suspended->by_time.clear();
  Suspended of = std::move(at->second);
  all.erase(at);
  const bool same = Referent(of.weak).get() == task;
  Py_DECREF(std::exchange(of.weak, nullptr));
  if (same) return of;
  MakeVoid(stack, of.open.data(), of.open.size());
  return {};
}

// A new reference; null where it takes none. May collect garbage.
PyObject* WeakTo(PyObject* task) {
  const PendingException kept;
  return PyWeakref_NewRef(task, nullptr);
}

void Keep(OpenStack* stack, PyObject* task, Suspended of) {
  if (stack->suspended == nullptr) {
    FreeThoseOfEndedThreads();
    stack->suspended = new SuspendedTasks;
  }
  if (stack->suspended->by_address.size() >= stack->suspended->sweep_at) Sweep(stack);
  (void)Take(stack, task);
  of.since = stack->slices;
  stack->suspended->by_time.clear();
  stack->suspended->by_address.emplace(task, std::move(of));
}

// What the task that runs has open, and `locals`, are `task`'s and kept for it.
void Suspend(OpenStack* stack, PyObject* task, const Locals& locals) {
  const auto is_its = [stack](const Open& open) { return open.slice == stack->slice; };
  const auto first = [&] { return std::find_if(stack->open, stack->open + stack->depth, is_its); };
  if (first() == stack->open + stack->depth && locals == Locals{}) return;
  Suspended of;
  of.weak = WeakTo(task);
  of.locals = locals;
  const auto from = static_cast<uint32_t>(first() - stack->open);
  for (uint32_t i = from; i < stack->depth; ++i) stack->open[i].goes = is_its(stack->open[i]);
  if (from < stack->depth) Cut(stack, from, &of.open);
  if (of.weak != nullptr) {
    Keep(stack, task, std::move(of));
  } else if (!of.open.empty()) {
    MakeVoid(stack, of.open.data(), of.open.size());
    ends_with_slice.Add();
  }
}

// A slice of `task` begins, with what that has open. Returns its variables.
Locals Resume(OpenStack* stack, PyObject* task) {
  Suspended of = Take(stack, task);
  stack->slice = ++stack->slices;
  PutBack(stack, &of.open);
  return of.locals;
}

// Sets this thread's variables, where `locals` is not null. Returns those of before.
Locals ExchangeLocals(const Locals* locals) {
  int32_t* addresses[CROSSCUT_TASK_LOCALS];
  const auto count = static_cast<size_t>(crosscut_task_locals(addresses));
  Locals before{};
  for (size_t i = 0; i < count; ++i) {
    before[i] = *addresses[i];
    if (locals != nullptr) *addresses[i] = (*locals)[i];
  }
  return before;
}

// ---- What crosscut_open() and crosscut_close() lead to: no GIL ----

OpenStack* IfItRunsTasks() {
  OpenStack* stack = ThisStack();
  return stack != nullptr && stack->runs_tasks.load(std::memory_order_relaxed) ? stack : nullptr;
}

int OpenInTask(uint32_t name) {
  OpenStack* stack = IfItRunsTasks();
  if (stack == nullptr) return 0;
  if (Settle(stack)) Push(stack, name, /*crosses=*/false);
  return 1;
}

int CloseInTask(uint32_t name) {
  OpenStack* stack = IfItRunsTasks();
  return stack != nullptr && CloseHere(stack, name, /*gil=*/false) ? 1 : 0;
}

void ForgetInTask(uint32_t name) { LeaveElsewhere(name, Left::kEnded, /*only_tasks=*/true); }

const crosscut_tasks kTasks = {sizeof kTasks, OpenInTask, CloseInTask, ForgetInTask};

// The stack of this thread as one that runs tasks; null where there is none, and nothing to record.
OpenStack* StackOfTasks() {
  OpenStack* stack = ThisStack();
  if (stack == nullptr) {
    if (crosscut_this_thread->enabled == 0 || (stack = MakeStack(true)) == nullptr) return nullptr;
  }
  if (!stack->runs_tasks.load(std::memory_order_relaxed)) {
    stack->runs_tasks = true;
    crosscut_follow_tasks(&kTasks);
  }
  return stack;
}

}  // namespace

// ---- record_open.h ----

// That of a task that is gone, as far as that can be known, rather than the latest other's. Of
// those that are gone it is no matter which: none goes on.
bool CloseSuspended(SuspendedTasks* suspended, uint32_t name, bool gil) {
  if (suspended == nullptr || suspended->by_address.empty()) return false;
  std::vector<Suspended*>& all = suspended->by_time;
  if (all.empty()) {
    for (auto& [task, of] : suspended->by_address) all.push_back(&of);
    std::sort(all.begin(), all.end(),
              [](const Suspended* a, const Suspended* b) { return a->since > b->since; });
  }
  const auto is_it = [name](const Open& open) { return NameOf(open) == name; };
  const auto has = [&](const Suspended* of) {
    return std::any_of(of->open.begin(), of->open.end(), is_it);
  };
  const auto goes = [&](const Suspended* of) { return has(of) && gil && IsGone(of->weak); };
  // From those that were suspended a little before the last one on, round.
  const size_t from = (std::min(suspended->closed_in, all.size()) + all.size() - 1) % all.size();
  Suspended* found = nullptr;
  for (size_t i = 0; i < all.size() && found == nullptr; ++i) {
    const size_t at = (from + all.size() - i) % all.size();
    if (!goes(all[at])) continue;
    found = all[at];
    suspended->closed_in = at;
  }
  if (found == nullptr) {
    const auto latest = std::find_if(all.begin(), all.end(), has);
    if (latest == all.end()) return false;
    found = *latest;
  }
  const auto last = std::find_if(found->open.rbegin(), found->open.rend(), is_it);
  found->open.erase(std::next(last).base());
  return true;
}

void ForgetSuspended(OpenStack* stack) {
  if (stack->suspended == nullptr) return;
  for (auto& [task, of] : stack->suspended->by_address) {
    MakeVoid(stack, of.open.data(), of.open.size());
    of.open.clear();
  }
}

void LeaveSuspended(SuspendedTasks* suspended) {
  if (suspended == nullptr) return;
  if (suspended->by_address.empty()) {
    delete suspended;
    return;
  }
  const std::lock_guard lock(ended.mutex);
  suspended->next = ended.first;
  ended.first = suspended;
}

// ---- record_tasks.h ----

void ThisThreadRunsTasks() {
  ThisThreadRunsPython();
  StackOfTasks();
}

void StartInTask(PyObject* task) {
  ThisThreadRunsTasks();
  OpenStack* stack = ThisStack();
  if (stack == nullptr || stack->slice != 0) return;
  EnterTask(task);
  Py_INCREF(task);
  stack->started_in = task;
}

Outer EnterTask(PyObject* task) {
  OpenStack* stack = StackOfTasks();
  if (stack == nullptr) return {};
  if (PyObject* const over = std::exchange(stack->started_in, nullptr)) {
    LeaveTask(over, {});
    Py_DECREF(over);
  }
  const uint64_t before = stack->slice;
  if (stack->suspended != nullptr) Settle(stack);
  Locals locals = Resume(stack, task);
  const Outer outer{before, ExchangeLocals(nullptr)};
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i] == 0) locals[i] = outer.locals[i];
  }
  ExchangeLocals(&locals);
  return outer;
}

Outer EnterNewTask() {
  OpenStack* stack = StackOfTasks();
  if (stack == nullptr) return {};
  return {std::exchange(stack->slice, ++stack->slices), ExchangeLocals(nullptr)};
}

void LeaveTask(PyObject* task, const Outer& outer) {
  OpenStack* stack = ThisStack();
  if (stack == nullptr || stack->slice == outer.slice) return;
  Locals locals = ExchangeLocals(&outer.locals);
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i] == outer.locals[i]) locals[i] = 0;
  }
  if ((stack->depth != 0 || locals != Locals{}) && Settle(stack)) Suspend(stack, task, locals);
  stack->slice = outer.slice;
}

bool SwitchTask(PyObject* from, PyObject* to) {
  OpenStack* stack = StackOfTasks();
  if (stack == nullptr) return true;
  const bool idle =
      stack->depth == 0 && (stack->suspended == nullptr || stack->suspended->by_address.empty());
  if (idle && ExchangeLocals(nullptr) == Locals{}) {
    stack->slice = ++stack->slices;
    return true;
  }
  if (!Settle(stack)) return false;
  if (stack->slice == 0) {
    stack->slice = ++stack->slices;
    for (uint32_t i = 0; i < stack->depth; ++i) stack->open[i].slice = stack->slice;
  }
  Suspend(stack, from, ExchangeLocals(nullptr));
  const Locals locals = Resume(stack, to);
  ExchangeLocals(&locals);
  return false;
}

}  // namespace crosscut::python
