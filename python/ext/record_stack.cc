#include "python/ext/record_stack.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "crosscut/crosscut.h"
#include "crosscut/fork_safe_mutex.h"
#include "python/ext/record_open.h"
#include "python/ext/record_shortfall.h"

namespace crosscut::python {
namespace {

// A pointer only: small enough for the static TLS block that dlopen may use.
__thread OpenStack* this_stack __attribute__((tls_model("initial-exec"))) = nullptr;

std::atomic<uint32_t> generation{1};  // changes when everything open becomes void

std::atomic<void (*)()> on_each_thread{nullptr};
std::atomic<uint32_t> each_thread{0};  // how often it was given

struct Threads {
  ForkSafeMutex mutex;
  OpenStack* first = nullptr;
};
Threads threads;  // of all that have a stack
using Lock = std::lock_guard<ForkSafeMutex>;

uint32_t DepthOf(const OpenStack* stack) { return stack->depth.load(std::memory_order_relaxed); }
bool IsOfNow(const OpenStack* stack) {
  return stack->generation.load(std::memory_order_relaxed) == generation.load();
}

void Remove(OpenStack* stack) {
  const Lock lock(threads.mutex);
  for (OpenStack** at = &threads.first; *at != nullptr; at = &(*at)->next) {
    if (*at == stack) {
      *at = stack->next;
      break;
    }
  }
}

bool EndVoid(OpenStack* stack, uint32_t name) {
  const auto found = std::find(stack->voids.begin(), stack->voids.end(), name);
  if (found == stack->voids.end()) return false;
  *found = stack->voids.back();
  stack->voids.pop_back();
  return true;
}

// Frees the thread's stack when the thread ends (without the GIL).
struct ThreadEnd {
  OpenStack* stack = nullptr;
  ~ThreadEnd() {
    if (stack == nullptr) return;
    Remove(stack);
    this_stack = nullptr;
    LeaveSuspended(stack->suspended);
    free(stack->open);
    delete stack;
  }
};
thread_local ThreadEnd thread_end;

bool Grow(OpenStack* stack) {
  const uint32_t capacity = stack->capacity == 0 ? 32 : stack->capacity * 2;
  auto* open = static_cast<Open*>(malloc(capacity * sizeof(Open)));
  if (open == nullptr) return false;
  {
    const Lock lock(threads.mutex);
    std::copy(stack->open, stack->open + DepthOf(stack), open);
    std::swap(stack->open, open);
  }
  stack->capacity = capacity;
  free(open);
  return true;
}

// Before an instant at which it may be cut. A name's first part is interned and written, which
// takes microseconds or waits for room.
void PrepareToGoOn(Open* open) {
  if (open->part == 0) open->part = crosscut_goes_on(NameOf(*open));
}

void BeginAgain(Open* open, uint64_t tick) {
  if (open->part == 0) return crosscut_begin_at(open->begun, tick);
  open->begun = open->part;
  crosscut_go_on_at(open->part, tick, open->cut, open->inside);
}

// How many of open[at]'s name lie in it.
uint32_t NamesakesInside(const OpenStack* stack, uint32_t at) {
  const uint32_t name = NameOf(stack->open[at]);
  return static_cast<uint32_t>(
      std::count_if(stack->open + at + 1, stack->open + DepthOf(stack),
                    [name](const Open& open) { return NameOf(open) == name; }));
}

// Sets that number of each, from place `from` on.
void CountNamesakes(OpenStack* stack, uint32_t from) {
  constexpr uint32_t kFew = 32;  // looked at one by one
  const uint32_t depth = DepthOf(stack);
  if (depth - from <= kFew) {
    for (uint32_t i = from; i < depth; ++i) stack->open[i].inside = NamesakesInside(stack, i);
    return;
  }
  std::unordered_map<uint32_t, uint32_t> inside;  // by name
  for (uint32_t i = depth; i-- > from;) stack->open[i].inside = inside[NameOf(stack->open[i])]++;
}

// Takes out those that are to go, from place `from` on.
void CloseUp(OpenStack* stack, uint32_t from) {
  const Lock lock(threads.mutex);
  Open* const begin = stack->open + from;
  Open* const end = std::remove_if(begin, stack->open + DepthOf(stack),
                                   [](const Open& open) { return open.goes != 0; });
  stack->depth.store(static_cast<uint32_t>(end - stack->open));
}

// Ends open[at] and takes it out. Its name ends the last one of that name.
void TakeOut(OpenStack* stack, uint32_t at) {
  Open& open = stack->open[at];
  open.goes = 1;
  if (!open.crosses || NamesakesInside(stack, at) != 0) return Cut(stack, at, nullptr);
  crosscut_end_named(open.begun);
  CloseUp(stack, at);
}

// Takes out what other threads ended. Of what ended elsewhere, the end is told there.
void TakeOutLeft(OpenStack* stack) {
  for (uint32_t i = 0; i < DepthOf(stack); ++i) {
    stack->open[i].goes = LeftOf(stack->open[i]) == Left::kEnded;
  }
  CloseUp(stack, 0);
  for (uint32_t i = DepthOf(stack); i-- > 0;) {
    if (LeftOf(stack->open[i]) != Left::kNo) TakeOut(stack, i);
  }
}

// The innermost open one of that name, rather of the task that runs than around it: its place + 1;
// 0: none.
uint32_t Find(const OpenStack* stack, uint32_t name) {
  uint32_t found = 0;
  for (uint32_t i = DepthOf(stack); i > 0; --i) {
    const Open& open = stack->open[i - 1];
    if (WordOf(open) != WordOf(name, Left::kNo)) continue;
    if (open.slice == stack->slice) return i;
    if (found == 0) found = i;
  }
  return found;
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
  if (LeaveElsewhere(name, Left::kOpen, /*only_tasks=*/false)) ends_elsewhere.Add();
}

bool IsCalled(const OpenStack* stack) { return stack->called == each_thread.load(); }

void CallOnThisThread(OpenStack* stack) {
  if (IsCalled(stack)) return;
  stack->called = each_thread.load();
  on_each_thread.load()();
}

// In a forked child, which has this thread alone; whatever it or another was doing is done here.
void ForgetParent() {
  threads.first = this_stack;
  if (this_stack != nullptr) this_stack->next = nullptr;
  shared_mutex.ForgetHolder();
  ForgetOpenOperations();
}

}  // namespace

// ---- record_open.h ----

OpenStack* ThisStack() { return this_stack; }

OpenStack* MakeStack(bool python) {
  auto* stack = new (std::nothrow) OpenStack;
  if (stack == nullptr) return nullptr;
  stack->generation = generation.load();
  thread_end.stack = stack;
  this_stack = stack;
  {
    const Lock lock(threads.mutex);
    stack->next = threads.first;
    threads.first = stack;
  }
  if (python) crosscut_base(CROSSCUT_PYTHON);
  return stack;
}

void MakeVoid(OpenStack* stack, const Open* open, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (LeftOf(open[i]) == Left::kNo) stack->voids.push_back(NameOf(open[i]));
  }
}

// All at one instant, because whatever a thread waits for in between would count for what is around
// them.
void Cut(OpenStack* stack, uint32_t from, std::vector<Open>* taken) {
  const uint32_t depth = DepthOf(stack);
  for (uint32_t i = from; i < depth; ++i) PrepareToGoOn(&stack->open[i]);
  CountNamesakes(stack, from);
  const uint64_t tick = crosscut_now();
  for (uint32_t i = depth; i-- > from;) {
    stack->open[i].cut = tick;
    crosscut_end_named_at(stack->open[i].begun, tick);
  }
  for (uint32_t i = from; i < depth; ++i) {
    Open& open = stack->open[i];
    if (open.goes == 0) {
      BeginAgain(&open, tick);
    } else if (taken != nullptr) {
      taken->push_back(open);
    }
  }
  CloseUp(stack, from);
}

void PutBack(OpenStack* stack, std::vector<Open>* taken) {
  for (Open& open : *taken) PrepareToGoOn(&open);
  const uint64_t tick = crosscut_now();
  for (Open& open : *taken) {
    const uint32_t depth = DepthOf(stack);
    if (depth == stack->capacity && !Grow(stack)) break;
    open.goes = 0;
    open.slice = stack->slice;
    stack->open[depth] = open;
    BeginAgain(&stack->open[depth], tick);
    stack->depth.store(depth + 1, std::memory_order_release);
  }
}

bool Settle(OpenStack* stack) {
  if (!IsOfNow(stack)) {
    MakeVoid(stack, stack->open, DepthOf(stack));
    {
      const Lock lock(threads.mutex);
      stack->generation = generation.load();
      stack->depth = 0;
      stack->has_left = false;
    }
    ForgetSuspended(stack);
  }
  if (stack->has_left.load() && stack->has_left.exchange(false)) {
    TakeOutLeft(stack);
  }
  return DepthOf(stack) < stack->capacity || Grow(stack);
}

void Push(OpenStack* stack, uint32_t name, bool crosses) {
  const uint32_t depth = DepthOf(stack);
  Open& open = stack->open[depth];
  __atomic_store_n(&open.word, WordOf(name, Left::kNo), __ATOMIC_RELAXED);
  open.begun = name;
  open.part = 0;
  open.cut = 0;
  open.slice = stack->slice;
  open.goes = 0;
  open.crosses = crosses;
  stack->depth.store(depth + 1, std::memory_order_release);
  crosscut_begin_inline(name);
}

bool CloseHere(OpenStack* stack, uint32_t name, bool gil) {
  Settle(stack);
  if (const uint32_t place = Find(stack, name)) {
    TakeOut(stack, place - 1);
    return true;
  }
  return CloseSuspended(stack->suspended, name, gil) || EndVoid(stack, name);
}

bool LeaveElsewhere(uint32_t name, Left left, bool only_tasks) {
  const Lock lock(threads.mutex);
  for (OpenStack* stack = threads.first; stack != nullptr; stack = stack->next) {
    if (stack == this_stack || !IsOfNow(stack) || (only_tasks && !stack->runs_tasks)) continue;
    for (uint32_t i = stack->depth.load(std::memory_order_acquire); i > 0; --i) {
      uint64_t word = WordOf(name, Left::kNo);
      if (WordOf(stack->open[i - 1]) != word) continue;  // a locked instruction takes longer
      if (!__atomic_compare_exchange_n(&stack->open[i - 1].word, &word, WordOf(name, left), false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        continue;
      }
      stack->has_left = true;
      return true;
    }
  }
  return false;
}

// ---- record_stack.h ----

void OpenOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr && (stack = MakeStack(true)) == nullptr) return;
  if (!IsOfNow(stack) || stack->has_left || !IsCalled(stack) || DepthOf(stack) == stack->capacity) {
    CallOnThisThread(stack);
    if (!Settle(stack)) return;
  }
  Push(stack, name, /*crosses=*/true);
}

void CloseOperation(uint32_t name, Tally* unseen) {
  if (OpenStack* stack = this_stack) {
    const uint32_t depth = DepthOf(stack);
    if (depth != 0 && !stack->has_left && IsOfNow(stack)) {
      const Open& innermost = stack->open[depth - 1];
      if (WordOf(innermost) == WordOf(name, Left::kNo) && innermost.slice == stack->slice) {
        const uint32_t begun = innermost.begun;
        stack->depth.store(depth - 1, std::memory_order_relaxed);
        crosscut_end_named(begun);
        return;
      }
    }
    if (CloseHere(stack, name, /*gil=*/true)) return;
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
                    (DepthOf(stack) != 0 || stack->suspended != nullptr || !stack->voids.empty());
  if (here || crosscut_this_thread->enabled != 0) {
    CloseOperation(name, unseen);
  } else if (unseen != nullptr) {
    unseen->Take();
  }
}

bool IsOpen(uint32_t name) {
  const OpenStack* stack = this_stack;
  return stack != nullptr && IsOfNow(stack) && Find(stack, name) != 0;
}

uint32_t OpenDepth() {
  const OpenStack* stack = this_stack;
  return stack != nullptr && IsOfNow(stack) ? DepthOf(stack) : 0;
}

void ForgetOpenOperations() { ++generation; }

bool FollowForks() {
  static const bool followed = pthread_atfork(nullptr, nullptr, &ForgetParent) == 0;
  return followed;
}

void MarkForked() {
  if (!crosscut_recording()) return;
  crosscut_instant(crosscut_intern("forked", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE, 0, 0));
  crosscut_base(CROSSCUT_PYTHON);
}

void OnEachThread(void (*call)()) {
  on_each_thread = call;
  ++each_thread;
}

void ThisThreadRunsPython() {
  if (this_stack == nullptr) MakeStack(true);
}

void ThisThreadIsOurs() {
  if (this_stack == nullptr) MakeStack(false);
}

}  // namespace crosscut::python
