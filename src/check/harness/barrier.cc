#include "src/check/harness/barrier.h"

#include <alloca.h>
#include <cxxabi.h>
#include <unistd.h>

#include <exception>
#include <string>

namespace crosscut::check {

thread_local bool inside_plugin = false;

namespace {

thread_local uint32_t my_slot = UINT32_MAX;

Slot& MySlot() {
  if (my_slot == UINT32_MAX) {
    my_slot = board().slots_used.fetch_add(1);
    // Slots of ended threads are used again: those of one test that run at once are few.
    my_slot %= Board::kSlots;
  }
  return board().slots[my_slot];
}

[[noreturn, gnu::noinline]] void LeftWrongly(Call call, const char* rule, const std::string& how) {
  inside_plugin = false;
  FailFatally(rule, std::string(NameOf(call)) + " " + how +
                        ": nothing may leave a call but its return; catch it inside the plugin "
                        "and set the status");
  ClearCalls();
  board().done.store(1);
  _exit(0);
}

std::string TypeOf(const std::exception* error) {
  return error == nullptr ? "an exception" : std::string("an exception (") + error->what() + ")";
}

// The call that this thread is in.
thread_local volatile uint32_t current = 0;

// The frame, deep in the stack, that still says which call it was when that call is long over.
// Between a call and its check nothing else is called here: that would overwrite the dead frames
// that a jump comes back to; and no register can be trusted.
[[gnu::noinline]] void CallHere(Call call, Body body, void* self) {
  const volatile uint32_t mine = static_cast<uint32_t>(call);
  current = mine;
  inside_plugin = true;
  body(self);
  if (current != mine) {
    LeftWrongly(static_cast<Call>(current), "C17.longjmp",
                "jumped out (longjmp) into a call that had ended");
  }
  inside_plugin = false;
}

// With a padding of its own for each kind of call: see the header.
[[gnu::noinline]] void CallDeep(Call call, Body body, void* self) {
  const size_t padding = (static_cast<size_t>(call) + 1) * 16384;
  volatile char* pad = static_cast<volatile char*>(alloca(padding));
  pad[0] = 1;
  CallHere(call, body, self);
  pad[1] = 1;
}

}  // namespace

void Enter(Call call, Body body, void* self) {
  Slot& slot = MySlot();
  const uint32_t before = slot.call.load();
  slot.began_ns.store(MonotonicNs());
  slot.call.store(static_cast<uint32_t>(call));
  try {
    CallDeep(call, body, self);
  } catch (const abi::__forced_unwind&) {
    LeftWrongly(call, "C17.thread_exit", "ended the caller's thread (pthread_exit or cancel)");
  } catch (const std::exception& error) {
    LeftWrongly(call, "C17.exception", "let " + TypeOf(&error) + " out");
  } catch (...) {
    LeftWrongly(call, "C17.exception", "let an exception out");
  }
  slot.call.store(before);
  current = before;
}

}  // namespace crosscut::check
