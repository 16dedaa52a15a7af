#include "operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <crosscut/crosscut.h>
#include <dlfcn.h>

#include <atomic>
#include <string_view>

#include "collectives.h"
#include "inputs.h"
#include "names.h"
#include "waits.h"

namespace crosscut::pytorch {
namespace {

// Words of the ring; docs/format.md.
constexpr uint64_t kEnd = 0x01;
constexpr uint64_t kArgName = 0x07;
constexpr uint64_t kFlowOut = 0x08;
constexpr uint64_t kFlowIn = 0x09;

// Of operators and autograd's nodes; of user scopes.
std::atomic<bool> recording{false}, recording_scopes{false};
std::atomic<Inputs> recording_inputs{Inputs::kNone};

std::atomic<bool> has_scopes{false};

// What overload_name() returns for names that are no schema's.
const char* no_schema = nullptr;

// Guards whose begin was not recorded, so that their end is not recorded either. Empty but for the
// moments in which recording goes on or off while operators run. While `beyond` counts, all guards
// that begin are unrecorded, so that ends can be told by their number alone.
struct Unrecorded {
  static constexpr uint32_t kMost = 14;
  const void* guards[kMost];
  uint32_t beyond;  // further ones, of which only the number is known
};
thread_local Unrecorded unrecorded;
thread_local uint32_t unrecorded_count __attribute__((tls_model("initial-exec")));

__attribute__((noinline, cold)) void NoteUnrecorded(const at::RecordFunction& guard) {
  // An asynchronous scope ends elsewhere, and that end is never recorded.
  if (guard.scope() == at::RecordScope::USER_SCOPE && guard.isAsync()) return;
  if (unrecorded_count == Unrecorded::kMost) {
    ++unrecorded.beyond;
  } else {
    unrecorded.guards[unrecorded_count++] = &guard;
  }
}

// A guard begins where an earlier one lay that never ended on this thread.
__attribute__((noinline, cold)) void DropStale(const void* guard) {
  if (unrecorded.beyond != 0) return;
  for (uint32_t i = unrecorded_count; i-- > 0;) {
    if (unrecorded.guards[i] != guard) continue;
    unrecorded.guards[i] = unrecorded.guards[--unrecorded_count];
  }
}

__attribute__((noinline, cold)) bool ForgetUnrecorded(const void* guard) {
  for (uint32_t i = unrecorded_count; i-- > 0 && unrecorded.beyond == 0;) {
    if (unrecorded.guards[i] != guard) continue;
    unrecorded.guards[i] = unrecorded.guards[--unrecorded_count];
    return true;
  }
  if (unrecorded.beyond == 0) return false;
  --unrecorded.beyond;
  return true;
}

// 0: nothing is recorded, 1: words may be written inline, else through the recorder.
inline uint32_t Enabled(const crosscut_thread* thread) {
  return __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED);
}

// An arrow out of or into a span; code 0: none.
struct Arrow {
  uint64_t code = 0, flow = 0;
};

// Begins a span with what is said of it, published as one.
inline void BeginWith(crosscut_thread* thread, uint32_t name, Arrow arrow, uint32_t inputs) {
  uint64_t words[5];
  unsigned n = 0, heads = 0;
  const uint32_t key = inputs == 0 ? 0 : InputsKey();
  if (arrow.code != 0) {
    heads |= 1u << n;
    words[n++] = arrow.code;
    words[n++] = arrow.flow;
  }
  if (inputs != 0) {
    heads |= 1u << n;
    words[n++] = kArgName;
    words[n++] = key;
    words[n++] = inputs;
  }
  if (__builtin_expect(name - 0x100u <= 0xfeffu && crosscut_inline_(thread, Enabled(thread)) &&
                           crosscut_write_(0, name, words, n, heads),
                       1)) {
    return;
  }
  crosscut_begin(name);
  if (arrow.code == kFlowOut) crosscut_flow_out(arrow.flow);
  if (arrow.code == kFlowIn) crosscut_flow_in(arrow.flow);
  if (inputs != 0) crosscut_arg_name(key, inputs);
}

// Asks the dearer question, whether a name belongs to a schema, once for each of them.
template <class Function>
inline uint32_t OperatorName(const Function& function) {
  const char* name = function.name();
  if (const uint32_t known = operator_names.Find(name); __builtin_expect(known != 0, 1)) {
    return known;
  }
  if constexpr (requires { function.overload_name(); }) {
    const char* const overload = function.overload_name();
    if (overload != no_schema) return operator_names.Insert(name, overload);
  }
  return node_names.Find(name);
}

// Only fast record functions, which have no schema, get inputs by name (PyTorch 2.4 or newer).
template <class Function>
inline uint32_t InputsOf(const Function& function) {
  const bool scalars = RecordingInputs() == Inputs::kScalars;
  if constexpr (requires { function.kwinputs(), function.overload_name(); }) {
    if (__builtin_expect(function.overload_name() == no_schema && scalars, 0) &&
        !function.kwinputs().empty()) {
      return FindInputs(function.inputs(), function.kwinputs());
    }
  }
  return FindInputs(function.name(), function.inputs(), scalars);
}

uint32_t Key(const char* text) {
  return crosscut_intern(text, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
}

// Of an asynchronous scope: where its guard lies, which stays until its end.
int64_t NumberOf(const at::RecordFunction& function) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(&function));
}

// The threads of a communication library do nothing but wait outside of what they are seen to do.
// Python's say themselves what they do.
void RestWithoutSpans() {
  if (Enabled(crosscut_this_thread) < 2) return;  // not its first event
  static const auto python =
      reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  if (python == nullptr || python() == nullptr) crosscut_base(CROSSCUT_IDLE);
}

// Whether a scope that ends may have been opened in a task: its guard does not tell.
int MayRunTasks() {
  return static_cast<int>(__atomic_load_n(&crosscut_tasks_followed_, __ATOMIC_RELAXED));
}

// User scopes may end out of order or on another thread, so their ends carry their name. Those that
// are declared asynchronous when they begin, such as collectives, are told by their own number.
void BeginUserScope(const at::RecordFunction& function) {
  if (function.isAsync()) {
    static const uint32_t key = Key("async");
    if (CarriesOut()) RestWithoutSpans();
    crosscut_instant(FindAsyncName(function.name()));
    crosscut_arg(key, NumberOf(function));
    return TellArguments(CollectiveOfWork());
  }
  const UserName name = FindUserName(function.name());
  crosscut_open(name.id);
  if (name.step >= 0) {
    static const uint32_t key = Key("step");
    crosscut_arg(key, name.step);
  }
}

void EndUserScope(const at::RecordFunction& function) {
  const bool elsewhere = function.threadId() != at::RecordFunction::currentThreadId();
  if (!elsewhere && !function.isAsync()) {
    const uint32_t name = FindUserName(function.name()).id;
    return crosscut_close(name, MayRunTasks());
  }
  if (elsewhere && IsRecording()) RestWithoutSpans();
  if (function.isAsync()) {
    CollectiveEnded(function.threadId());
    return crosscut_async_end(FindAsyncName(function.name()), NumberOf(function));
  }
  const uint32_t name = FindUserName(function.name()).id;
  crosscut_task_forget(name);
  crosscut_end_named(name);
}

// An operator that goes away takes its name along.
class Deregistrations final : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle&) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    if (op.hasSchema()) operator_names.Forget(op.schema().name().c_str());
  }
};

// What torch.distributed says of a collective.
__attribute__((noinline, cold)) void TellCollective() {
  if (const uint32_t told = FindCollective(); told != 0) crosscut_arg_name(InputsKey(), told);
}

// False where this guard is not recorded; `on` is the switch of its kind.
inline bool Records(crosscut_thread* thread, const at::RecordFunction& function,
                    const std::atomic<bool>& on) {
  if (__builtin_expect(unrecorded_count != 0, 0)) DropStale(&function);
  if (__builtin_expect(Enabled(thread) == 0 || !on.load(std::memory_order_relaxed) ||
                           unrecorded_count == Unrecorded::kMost,
                       0)) {
    NoteUnrecorded(function);
    return false;
  }
  return true;
}

template <bool kWithInputs>
std::unique_ptr<at::ObserverContext> BeginOperator(const at::RecordFunction& function) {
  crosscut_thread* thread = crosscut_this_thread;
  if (!Records(thread, function, recording)) return nullptr;
  uint32_t inputs = 0;
  if constexpr (kWithInputs) inputs = InputsOf(function);
  const uint32_t name = OperatorName(function);
  const int64_t sequence = function.seqNr();
  if (!kWithInputs && sequence < 0) {
    crosscut_begin_inline(name);
  } else {
    Arrow arrow;
    if (const uint64_t forward = function.forwardThreadId(); sequence >= 0 && forward > 0) {
      arrow = {kFlowIn, FlowId(forward, sequence)};
    } else if (sequence >= 0) {
      arrow = {kFlowOut, FlowId(function.threadId(), sequence)};
    }
    BeginWith(thread, name, arrow, inputs);
  }
  if (__builtin_expect(function.isNcclMeta(), 0)) TellCollective();
  return nullptr;
}

}  // namespace

std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& function) {
  return BeginOperator</*kWithInputs=*/false>(function);
}

std::unique_ptr<at::ObserverContext> BeginWithInputs(const at::RecordFunction& function) {
  return BeginOperator</*kWithInputs=*/true>(function);
}

void End(const at::RecordFunction& function, at::ObserverContext*) {
  if (__builtin_expect(unrecorded_count != 0, 0) && ForgetUnrecorded(&function)) return;
  crosscut_mark_(kEnd);
}

bool HasScopes() { return has_scopes.load(std::memory_order_relaxed); }

bool NoticeScope(const char* name) {
  if (HasScopes()) return false;
  for (const char* others : {"Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#",
                             "crosscut.calibrate"}) {
    if (std::string_view(name).starts_with(others)) return false;
  }
  return !has_scopes.exchange(true);
}

std::unique_ptr<at::ObserverContext> BeginScope(const at::RecordFunction& function) {
  NoticeScope(function.name());
  if (function.isAsync()) CollectiveBegan(function.threadId());
  if (Records(crosscut_this_thread, function, recording_scopes)) BeginUserScope(function);
  return nullptr;
}

void EndScope(const at::RecordFunction& function, at::ObserverContext*) {
  if (__builtin_expect(unrecorded_count != 0, 0) && ForgetUnrecorded(&function)) return;
  EndUserScope(function);
}

at::RecordFunctionCallback Callbacks(Inputs inputs) {
  const bool with = inputs != Inputs::kNone;
  return at::RecordFunctionCallback(with ? &BeginWithInputs : &Begin, &End)
      .needsInputs(with)
      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
               at::RecordScope::TORCHSCRIPT_FUNCTION});
}

at::RecordFunctionCallback ScopeCallbacks() {
  return at::RecordFunctionCallback(&BeginScope, &EndScope).scopes({at::RecordScope::USER_SCOPE});
}

void SetRecording(bool on) { recording.store(on, std::memory_order_relaxed); }
void SetRecordingScopes(bool on) { recording_scopes.store(on, std::memory_order_relaxed); }
void SetRecordingInputs(Inputs inputs) {
  recording_inputs.store(inputs, std::memory_order_relaxed);
}
Inputs RecordingInputs() { return recording_inputs.load(std::memory_order_relaxed); }
bool IsRecordingOperators() { return recording.load(std::memory_order_relaxed); }
bool IsRecording() { return recording_scopes.load(std::memory_order_relaxed); }

void PrepareNames() {
  auto learn = [](const auto& function) {
    if constexpr (requires { function.overload_name(); }) no_schema = function.overload_name();
  };
  at::RecordFunction nameless{at::StepCallbacks()};
  learn(nameless);
  // Lives as long as the process: operators are deregistered at exit, too.
  static auto* const handle = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Deregistrations>()));
  (void)handle;
}

}  // namespace crosscut::pytorch
