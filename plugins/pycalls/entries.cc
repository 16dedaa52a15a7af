#include "entries.h"

#include "call_stack.h"
#include "callbacks.h"
#include "crosscut/crosscut.h"
#include "interpreters.h"
#include "patches.h"

namespace crosscut::pycalls {

Entry g_entries[kMaxEntries];
Extra g_extras[kMaxEntries];

// Two registers: both ABIs pass sixteen bytes of integers so.
struct Pair {
  uint64_t first, second;
};
using AnyFunction = uint64_t (*)(Pair, Pair, uint64_t);
struct Arguments {
  Pair ab, cd;
  uint64_t e;
};

namespace {

__thread bool t_known __attribute__((tls_model("initial-exec")));

// Whoever calls through a table runs Python: outside spans the thread is in that layer, unless
// something has said otherwise since.
__attribute__((noinline)) void FirstCall() {
  if (t_known) return;
  t_known = true;
  crosscut_base(CROSSCUT_PYTHON);
}

// One call in flight, whose begin is marked. Its end belongs to the session of the begin, or to a
// later one that BeginNative() and its kin have told of it.
class Flight {
 public:
  Flight() : session_(g_session), followed_(g_follows != Follows::kNothing) {}
  bool followed() const { return followed_; }
  const void* token() const { return this; }
  // Whether the end is to be marked, now.
  bool Ends() const { return __builtin_expect(followed_, 0) ? EndNative(token()) : InItsSession(); }
  bool InItsSession() const { return StillIn(session_); }

 private:
  const uint32_t session_;
  const bool followed_;
};

// The call of an entry that has an Extra. `name` carries a line where calls are recorded.
__attribute__((noinline)) uint64_t CallWithExtra(const Entry* entry, uint32_t name,
                                                 const Flight& flight, const Arguments& to) {
  const auto original = reinterpret_cast<AnyFunction>(entry->original);
  const Extra& extra = g_extras[entry - g_entries];
  if (extra.choose != nullptr) {
    const uint32_t chosen = extra.choose(entry->name, {to.ab.first, to.ab.second, to.cd.first});
    if (chosen == 0) {
      if (flight.followed()) (void)EndNative(flight.token());
      return original(to.ab, to.cd, to.e);
    }
    if (chosen != entry->name) name = chosen;
    if (flight.followed()) RenameNative(flight.token(), name);
  }
  const uint32_t operation = extra.operation;
  const int opened = operation != 0 ? crosscut_open(operation) : 0;
  crosscut_begin_inline(name);
  const bool told_apart = extra.callbacks && g_follows != Follows::kAllCalls;
  const bool before = told_apart && EnterNative();
  const uint64_t result = original(to.ab, to.cd, to.e);
  if (told_apart) LeaveNative(before);
  if (flight.Ends()) crosscut_end_inline();
  if (operation != 0 && flight.InItsSession()) crosscut_close(operation, opened);
  return result;
}

}  // namespace
}  // namespace crosscut::pycalls

using crosscut::pycalls::AnyFunction;
using crosscut::pycalls::Entry;
using crosscut::pycalls::Flight;
using crosscut::pycalls::Pair;

// Not noexcept: a thread that ends inside the original (pthread_exit at interpreter shutdown) is
// unwound through here.
extern "C" {

__attribute__((visibility("hidden"), used)) uint64_t CrosscutPycallsCall(Pair ab, Pair cd,
                                                                         uint64_t e,
                                                                         uint32_t index) {
  const Entry* entry = &crosscut::pycalls::g_entries[index];
  const auto original = reinterpret_cast<AnyFunction>(entry->original);
  const uint32_t enabled = crosscut_this_thread->enabled;
  if (enabled == 0) return original(ab, cd, e);
  if (__builtin_expect(!crosscut::pycalls::IsMainsCall(), 0)) {
    crosscut::pycalls::TellOfOtherInterpreters();
    return original(ab, cd, e);
  }
  if (__builtin_expect(enabled != 1, 0)) crosscut::pycalls::FirstCall();
  uint32_t name = entry->name;
  const Flight flight;
  if (__builtin_expect(flight.followed(), 0)) {
    name = crosscut::pycalls::BeginNative(index, flight.token());
    if (name == 0) return original(ab, cd, e);
  }
  if (__builtin_expect(entry->state != 0, 0)) {
    if (entry->state & crosscut::pycalls::kFresh) {
      crosscut::pycalls::NoteUse(index);
      const bool idle = crosscut::pycalls::PatchesAre() == crosscut::pycalls::Thunks::kIdle;
      if (idle && !flight.followed()) return original(ab, cd, e);
    }
    if (entry->state & crosscut::pycalls::kHasExtra) {
      return crosscut::pycalls::CallWithExtra(entry, name, flight, {ab, cd, e});
    }
  }
  crosscut_begin_inline(name);
  const uint64_t result = original(ab, cd, e);
  if (__builtin_expect(flight.Ends(), 1)) crosscut_end_inline();
  return result;
}

__attribute__((visibility("hidden"))) extern const char CrosscutPycallsStubs[];

}  // extern "C"

// kMaxEntries stubs of 16 bytes. They leave the stack alone, so one frame description fits all.
#if defined(__x86_64__)
#define CROSSCUT_STUB "endbr64\n movl $crosscut_stub_index, %r9d\n jmp CrosscutPycallsCall\n"
#elif defined(__aarch64__)
#define CROSSCUT_STUB "hint #34\n mov w5, #crosscut_stub_index\n b CrosscutPycallsCall\n"
#else
#error "pycalls: no stub for this processor"
#endif
__asm__(
    ".pushsection .text.crosscut_stubs,\"ax\",@progbits\n"
    ".p2align 4\n"
    ".globl CrosscutPycallsStubs\n"
    ".hidden CrosscutPycallsStubs\n"
    ".type CrosscutPycallsStubs,@function\n"
    "CrosscutPycallsStubs:\n"
    ".cfi_startproc\n"
    ".set crosscut_stub_index, 0\n"
    ".rept 16384\n" CROSSCUT_STUB
    ".p2align 4\n"
    ".set crosscut_stub_index, crosscut_stub_index + 1\n"
    ".endr\n"
    ".cfi_endproc\n"
    ".size CrosscutPycallsStubs, . - CrosscutPycallsStubs\n"
    ".popsection\n");

namespace crosscut::pycalls {

void* Stub(uint32_t index) { return const_cast<char*>(CrosscutPycallsStubs + 16 * index); }

int64_t StubIndex(const void* code) {
  const uintptr_t offset =
      reinterpret_cast<uintptr_t>(code) - reinterpret_cast<uintptr_t>(CrosscutPycallsStubs);
  return offset < uintptr_t{16} * kMaxEntries ? static_cast<int64_t>(offset / 16) : -1;
}

}  // namespace crosscut::pycalls
