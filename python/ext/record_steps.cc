#include "python/ext/record_steps.h"

#include <frameobject.h>
#include <stddef.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "crosscut/crosscut.h"
#include "crosscut/ref.h"
#include "python/ext/record_callable.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

SharedRef step_hook;
std::atomic<bool> program_steps{false};  // the program declares its steps

// A step waits for no other thread, and giving up a GIL is a wait by itself. Where there is none,
// others may wait for this thread to stop.
template <class Edge>
auto AtStep(Edge edge) {
  if constexpr (kHasGil) {
    return edge();
  } else {
    return Apart(edge);
  }
}

// *number: its number. False with an exception where the program is interrupted in the hook.
bool BeginStep(uint32_t kind, uint64_t* number) {
  ThisThreadRunsPython();
  *number = AtStep([kind] { return crosscut_step(kind); });
  const Ref hook = step_hook.Get();
  if (!hook) return true;
  const Unseen unseen;
  PyObject* told = PyObject_CallFunction(hook.get(), "K", static_cast<unsigned long long>(*number));
  return static_cast<bool>(Ref(OursOrNone(hook.get(), told)));
}

uint32_t FoundKind(const char* name) {
  return crosscut_intern(name, SIZE_MAX, CROSSCUT_STEP, CROSSCUT_LAYER_NONE,
                         CROSSCUT_NO_LAYER | CROSSCUT_FOUND,
                         crosscut_intern("step", 4, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0));
}

// ---- Steps that are found ----
// Of updaters that take turns in one pass, as those of a GAN, one ends the steps: the primary. What
// makes so many updates in a row has a loop of its own, and each of these is a step.
constexpr uint32_t kLoop = 3;
constexpr uint32_t kLongLoop = 8;  // in a row by the primary: then a new one begins a loop, too
constexpr uint32_t kLost = 16;     // by one that takes turns with others, and none by the primary
// Steps of an environment without an update that are a step. One is often too short for that: what
// a processor has learned of the hooks takes it milliseconds to unlearn when they are withdrawn.
constexpr uint32_t kRollout = 8;

// How surely something that comes again ends a step. What surely does takes the place of the rest,
// and what is less sure ends none beside it.
enum Sureness : uint8_t { kBatch, kInference, kGradients, kBackward, kGuess, kUpdate };

// What makes updates: an object that weak references can be made of, and a place in it.
struct Updater {
  PyObject* object;
  int place = 0;
};

// An updater that was met: by a weak reference to its object, which is one and the same as long as
// that lives, and its place.
using Known = std::pair<PyObject*, int>;

struct Past {
  uint32_t held = 0;   // its updates that made or found it the primary, when it was that last
  uint32_t since = 0;  // its updates since the primary's last
  uint64_t round = 0;  // Finder::round then: `since` is of no other
};

// One for the process: whichever libraries update models in it, one updater makes its steps.
struct Finder {
  std::map<Known, Past> known;
  size_t sweep_at = 64;        // so many of them: those that are gone are forgotten
  Known primary = {};          // null: there was none yet
  Sureness sureness = kBatch;  // of the primary
  uint64_t round = 0;          // updates of all that were primary
  unsigned long thread = 0;    // that made the last of them
  Known last = {};             // whose update was the last one in that thread,
  uint32_t row = 0;            // and how many were its own, one behind the other
  uint64_t next = 0;           // more than the numbers of our steps can be; 0: any
  uint32_t simulated = 0;      // steps of the environment since the last update
  uint32_t lazy = 0;           // updates by what is yet to run, since one that was made
  // Passes forward since the last run of autograd's engine; batches since a pass.
  std::atomic<uint32_t> forwards{0}, batches{0};
  std::atomic<bool> asks{true};     // false once somebody else says where the steps are
  std::atomic<bool> learns{false};  // there was an update
};
Finder finder;

// Calls in one interpreter that has a GIL come one at a time. Without one, updates of two threads
// are one another's: a step is the process's.
StateMutex finder_mutex;

// Null with an exception, as BeginStep().
PyObject* BeginFound(const char* name, std::atomic<uint32_t>* kind) {
  if (program_steps) finder.asks = false;
  if (!finder.asks) Py_RETURN_NONE;
  if (*kind == 0) *kind = FoundKind(name);
  {
    const std::lock_guard lock(finder_mutex);
    if (finder.next != 0) ++finder.next;  // before: two threads may be here
  }
  uint64_t number = 0;
  if (!BeginStep(*kind, &number)) return nullptr;
  const bool recorded = crosscut_active() != 0;
  const std::lock_guard lock(finder_mutex);
  // A higher number: somebody else counts steps, too. 0: the first of another session.
  if (recorded && finder.next != 0 && number >= finder.next) finder.asks = false;
  if (!recorded) finder.next = 0;
  if (recorded && (finder.next == 0 || number == 0)) finder.next = number + 1;
  Py_RETURN_NONE;
}

// Forgets what is gone. `swept`: what to let go of where no lock is held.
void Sweep(std::vector<Ref>* swept) {
  for (auto at = finder.known.begin(); at != finder.known.end();) {
    swept->push_back(Referent(at->first.first));
    if (swept->back() || at->first == finder.primary || at->first == finder.last) {
      ++at;
    } else {
      swept->emplace_back(at->first.first);
      at = finder.known.erase(at);
    }
  }
  finder.sweep_at = std::max<size_t>(64, 2 * finder.known.size());
}

// Whether an update makes `key` the primary, which it is not. Its `past` counts the update,
// Finder::last and row do not. `gone`: there is no primary. `is_new`: the update is its first.
bool TakesPlace(const Known& key, const Past& past, Sureness sureness, bool is_new, bool gone) {
  const bool returns = past.held >= kLoop;
  if (gone) return is_new || returns || past.since >= kLoop;
  if (past.since >= kLost || sureness > finder.sureness) return true;
  // Threads go on beside one another: how their updates follow says nothing.
  if (sureness < finder.sureness || finder.thread != PyThread_get_thread_ident()) return false;
  const bool loop_ended = finder.last == finder.primary && finder.row >= kLongLoop;
  return returns || (is_new && loop_ended) || (finder.last == key && finder.row + 1 >= kLoop);
}

// Whether an update by `updater` is the primary's, which it may become by it: docs/pytorch.md has
// the rule. -1 with an exception.
int IsPrimary(Updater updater, Sureness sureness) {
  Ref reference(PyWeakref_NewRef(updater.object, nullptr)), primary;
  if (!reference) return -1;
  std::vector<Ref> swept;
  const std::lock_guard lock(finder_mutex);
  const Known key = {reference.get(), updater.place};
  primary = Referent(finder.primary.first);
  const bool same = key == finder.primary, gone = !primary;
  if (!same && !gone && sureness < kGuess && sureness < finder.sureness) return 0;
  const auto [at, is_new] = finder.known.try_emplace(key);
  if (is_new) {
    reference.release();
    if (finder.known.size() >= finder.sweep_at) Sweep(&swept);
  }
  Past& past = at->second;
  past.since = past.round == finder.round ? past.since + 1 : 1;
  past.round = finder.round;
  const bool ends = same || TakesPlace(key, past, sureness, is_new, gone);
  if (ends || finder.thread == PyThread_get_thread_ident()) {
    finder.row = finder.last == key ? finder.row + 1 : 1;
    finder.last = key;
  }
  if (!ends) return 0;
  if (!same) finder.sureness = sureness;
  past.held = same ? past.held + 1 : past.since;
  finder.primary = key;
  finder.thread = PyThread_get_thread_ident();
  ++finder.round;
  return 1;
}

void Learns() {
  const std::lock_guard lock(finder_mutex);
  finder.simulated = finder.forwards = finder.batches = 0;
  finder.learns = true;
}

// A step ends here where the update was the primary's, and the next begins.
PyObject* Found(Updater updater, Sureness sureness) {
  if (!finder.asks) Py_RETURN_NONE;
  const int is_primary = IsPrimary(updater, sureness);
  if (is_primary < 0) return nullptr;
  if (is_primary == 0) Py_RETURN_NONE;
  static std::atomic<uint32_t> update{0}, inference{0}, batch{0};
  if (sureness == kInference) return BeginFound("inference step", &inference);
  if (sureness == kBatch) return BeginFound("batch", &batch);
  Learns();
  return BeginFound("step", &update);
}

// Whether what a step() has returned is yet to make the update, by another step(): a generator, or
// a coroutine. Where no other came since the last such call, it makes it itself.
bool IsLazy(PyObject* result) {
  const bool lazy = PyGen_Check(result) || PyCoro_CheckExact(result);
  const std::lock_guard lock(finder_mutex);
  finder.lazy = lazy ? finder.lazy + 1 : 0;
  return finder.lazy == 1;
}

PyObject* UpdatePassed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "update_passed() needs what has made an update");
    return nullptr;
  }
  if (count > 2 && args[2] == Py_True) Py_RETURN_NONE;
  if (count > 1 && IsLazy(args[1])) Py_RETURN_NONE;
  return FoundUpdate(args[0]);
}

PyObject* UpdateGuessed(PyObject*, PyObject* updater) { return Found({updater}, kGuess); }

PyObject* StepsDeclared(PyObject*, PyObject*) {
  finder.asks = false;
  Py_RETURN_NONE;
}

// All but whether somebody else says where the steps are. The weak references stay.
void ForgetFound() {
  finder.known.clear();
  finder.primary = finder.last = {};
  finder.sureness = kBatch;
  finder.learns = false;
  finder.next = finder.round = finder.thread = 0;
  finder.row = finder.simulated = finder.lazy = 0;
  finder.forwards = finder.batches = 0;
}

PyObject* ForgetUpdates(PyObject*, PyObject*) {
  std::vector<Ref> known;
  const std::lock_guard lock(finder_mutex);
  for (const auto& [key, past] : finder.known) known.emplace_back(key.first);
  ForgetFound();
  finder.asks = true;
  Py_RETURN_NONE;
}

PyObject* Simulated(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!finder.learns || (count > 2 && args[2] == Py_True)) Py_RETURN_NONE;
  if (finder.thread != PyThread_get_thread_ident()) Py_RETURN_NONE;
  {
    const std::lock_guard lock(finder_mutex);
    if (++finder.simulated < kRollout) Py_RETURN_NONE;
    finder.simulated = 0;
  }
  static std::atomic<uint32_t> kind{0};
  return BeginFound("rollout step", &kind);
}

// -- Updates --

// A program may use the gradients itself. Where so many runs of the engine have passed without an
// update, and no optimizer was made, a run of it ends a step: of those from one line of the
// program, as a program may run it several times in each. Gradients may be a means to other ends,
// so a run that leaves them at the parameters goes before one that returns them.
constexpr uint32_t kUnled = 4;

// The primary updater, where it is at least that sure.
Ref Primary(Sureness least) {
  const std::lock_guard lock(finder_mutex);
  return Referent(finder.sureness >= least ? finder.primary.first : nullptr);
}

// Whether the answer is True, asked unseen: 0 or 1; -1 with an exception.
int SaysYes(PyObject* question) {
  const Unseen unseen;
  const Ref answer(OursOrNone(question, PyObject_CallNoArgs(question)));
  return !answer ? -1 : answer.get() == Py_True ? 1 : 0;
}

struct Backwards {
  Held check, unled, task;
  Held others, compilers;           // what names of files begin with: not the program's own
  std::atomic<uint32_t> passed{0};  // since the last update
};

// 1: the gradients that are there now are the program's to use; -1 with an exception.
int IsUnled(Backwards* self) {
  Ref primary;
  bool ours = false, other = false;
  {
    const std::lock_guard lock(finder_mutex);
    primary = Referent(finder.primary.first);
    other = primary && finder.sureness > kBackward;
    ours = primary && !other && finder.sureness >= kGradients;
  }
  if (other) self->passed = 0;
  if (other || (!ours && ++self->passed < kUnled)) return 0;
  const Ref task(PyObject_CallNoArgs(self->task.object));  // of the run around this one
  const bool inside = task && PyLong_AsLong(task.get()) != -1;
  if (PyErr_Occurred() != nullptr) return -1;
  if (inside || ours) return inside ? 0 : 1;
  self->passed = 0;
  return SaysYes(self->unled.object);
}

bool BeginsWithAny(PyObject* text, PyObject* begins) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(begins); ++i) {
    if (PyUnicode_Tailmatch(text, PyTuple_GET_ITEM(begins, i), 0, PY_SSIZE_T_MAX, -1) != 0) {
      return true;
    }
  }
  return false;
}

// The innermost line of this thread in a file whose name begins with none of `others`: its code
// object, and its number. Null: there is none, or a compiler works inside of it.
Ref LineOutside(PyObject* others, PyObject* compilers, int* line) {
  Ref frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* at = reinterpret_cast<PyFrameObject*>(frame.get());
    Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    PyObject* const file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
    if (BeginsWithAny(file, compilers)) break;
    *line = PyFrame_GetLineNumber(at);
    if (!BeginsWithAny(file, others)) return code;
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return Ref();
}

PyObject* BackwardEnds(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  auto* self = StateOf<Backwards>(capsule);
  finder.forwards = finder.batches = 0;
  if (!Ref(PyObject_CallNoArgs(self->check.object))) return nullptr;
  if (!finder.asks || count < 3 || args[2] == Py_True) Py_RETURN_NONE;
  const int unled = IsUnled(self);
  if (unled < 0) return nullptr;
  if (unled == 0) Py_RETURN_NONE;
  Updater line = {nullptr};
  const Ref code = LineOutside(self->others.object, self->compilers.object, &line.place);
  if (!code) Py_RETURN_NONE;
  line.object = code.get();
  // torch.autograd.grad() has the gradients in its result.
  return Found(line, args[1] == Py_None ? kBackward : kGradients);
}

PyMethodDef backward_function = {"backward_ends", Function(BackwardEnds), METH_FASTCALL, nullptr};

PyObject* MakeBackwards(PyObject*, PyObject* args) {
  PyObject *check, *unled, *task, *others, *compilers;
  if (!PyArg_ParseTuple(args, "OOOO!O!:backwards", &check, &unled, &task, &PyTuple_Type, &others,
                        &PyTuple_Type, &compilers)) {
    return nullptr;
  }
  return Callable(new (std::nothrow) Backwards{Held(check), Held(unled), Held(task), Held(others),
                                               Held(compilers)},
                  &backward_function);
}

// -- What comes again in a program that learns nothing --

// Where so many passes forward, or batches, have come without those, each ends a step.
constexpr uint32_t kRepeats = 8;

SharedRef unled_repeats;  // whether nothing can learn; null: nobody is asked, and none is found

// Whether something ends a step, of whose kind so many came: -1 with an exception.
int EndsStep(Sureness sureness, std::atomic<uint32_t>* came) {
  if (!finder.asks || Primary(static_cast<Sureness>(sureness + 1))) return 0;
  if (*came >= kRepeats) return 1;
  if (++*came < kRepeats) return 0;
  const Ref unled = unled_repeats.Get();
  const int yes = unled ? SaysYes(unled.get()) : 0;
  if (unled && yes == 0) *came = 0;
  return yes;
}

// The outermost call of a module is over. Its result; null with an exception.
void* ForwardEnds(void* module, void* result) {
  if (result == nullptr) return nullptr;
  finder.batches = 0;
  const int ends = EndsStep(kInference, &finder.forwards);
  if (ends == 0) return result;
  Ref kept(static_cast<PyObject*>(result));
  const Ref told(ends < 0 ? nullptr : Found({static_cast<PyObject*>(module)}, kInference));
  return told ? kept.release() : nullptr;
}

PyObject* BatchEnds(PyObject* check, PyObject* const* args, Py_ssize_t count) {
  Ref checked(PyObject_CallNoArgs(check));
  if (!checked || (count > 2 && args[2] == Py_True)) return checked.release();
  const int ends = EndsStep(kBatch, &finder.batches);
  if (ends == 0) return checked.release();
  return ends < 0 ? nullptr : Found({check}, kBatch);
}

PyMethodDef batch_function = {"batch_ends", Function(BatchEnds), METH_FASTCALL, nullptr};

PyObject* MakeBatches(PyObject*, PyObject* check) {
  return PyCFunction_New(&batch_function, check);
}

PyObject* FollowForwards(PyObject*, PyObject* unled) {
  unled_repeats.Set(unled);
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(&ForwardEnds));
}

// -- A slot that others may fill anew --

struct SlotGuard {
  void* const* slot;
  const void* expected;
  Held repair;
};

PyObject* GuardSlot(PyObject* capsule, PyObject* const*, Py_ssize_t) {
  const auto* self = StateOf<SlotGuard>(capsule);
  if (__atomic_load_n(self->slot, __ATOMIC_RELAXED) == self->expected) Py_RETURN_NONE;
  return PyObject_CallNoArgs(self->repair.object);
}

PyMethodDef guard_function = {"guard", Function(GuardSlot), METH_FASTCALL, nullptr};

PyObject* MakeSlotGuard(PyObject*, PyObject* args) {
  unsigned long long slot, expected;
  PyObject* repair;
  if (!PyArg_ParseTuple(args, "KKO:slot_guard", &slot, &expected, &repair)) return nullptr;
  return Callable(
      new (std::nothrow)
          SlotGuard{reinterpret_cast<void* const*>(static_cast<uintptr_t>(slot)),
                    reinterpret_cast<const void*>(static_cast<uintptr_t>(expected)), Held(repair)},
      &guard_function);
}

// -- An answer that a process gives once --

struct Once {
  Held question;
  std::atomic<pid_t> answered_in{0};
  std::atomic<bool> yes{false};
};

PyObject* AskOnce(PyObject* capsule, PyObject* const*, Py_ssize_t) {
  auto* self = StateOf<Once>(capsule);
  const pid_t process = getpid();
  if (self->answered_in != process) {
    const Ref answer(PyObject_CallNoArgs(self->question.object));
    if (!answer) return nullptr;
    self->yes = PyObject_IsTrue(answer.get()) > 0;
    self->answered_in = process;
  }
  if (self->yes) Py_RETURN_TRUE;
  Py_RETURN_NONE;
}

PyMethodDef once_function = {"once", Function(AskOnce), METH_FASTCALL, nullptr};

PyObject* MakeOnce(PyObject*, PyObject* question) {
  return Callable(new (std::nothrow) Once{Held(question)}, &once_function);
}

// -- Annotations that declare steps --

constexpr int kDepthBits = 16;

struct Annotations {
  Held begin, end;
  int32_t id;  // one that is left open in one window is not open in the next
};

ByIdentity annotation_kinds;
thread_local int32_t annotated = 0;  // in the task that runs: how many, and above it whose
int32_t* Annotated() { return &annotated; }

// How many of these are open; then there are `more` of them.
int32_t Depth(const Annotations* self, int32_t more) {
  const bool ours = annotated >> kDepthBits == self->id;
  const int32_t depth = ours ? annotated & ((1 << kDepthBits) - 1) : 0;
  annotated = depth + more > 0 ? self->id << kDepthBits | (depth + more) : 0;
  return depth;
}

PyObject* AnnotationMade(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static PyObject* const keyword = PyUnicode_InternFromString("name");
  PyObject* name = Argument(args, count, keywords, 1, keyword);
  if (count > 0 && name != nullptr) annotation_kinds.Set(args[0], name);
  Py_RETURN_TRUE;
}

PyObject* AnnotationBegins(PyObject* capsule, PyObject* annotation) {
  const auto* self = StateOf<Annotations>(capsule);
  if (Depth(self, 1) > 0) Py_RETURN_TRUE;
  const Ref kind = annotation_kinds.Get(annotation);
  if (Ref(PyObject_CallOneArg(self->begin.object, kind ? kind.get() : Py_None))) Py_RETURN_TRUE;
  Depth(self, -1);
  return nullptr;
}

PyObject* AnnotationEnds(PyObject* capsule, PyObject* const*, Py_ssize_t) {
  const auto* self = StateOf<Annotations>(capsule);
  if (Depth(self, -1) == 1) return PyObject_CallNoArgs(self->end.object);
  Py_RETURN_NONE;  // one inside another, or that began before we were there
}

PyMethodDef annotation_functions[] = {
    {"made", Function(AnnotationMade), METH_FASTCALL | METH_KEYWORDS, "annotation, name"},
    {"begins", AnnotationBegins, METH_O, "annotation"},
    {"ends", Function(AnnotationEnds), METH_FASTCALL, "annotation"}};

PyObject* MakeAnnotations(PyObject*, PyObject* args) {
  PyObject *begin, *end;
  if (!PyArg_ParseTuple(args, "OO:annotated_steps", &begin, &end)) return nullptr;
  static std::atomic<int32_t> ids{0};
  const int32_t id = 1 + ids++ % ((1 << (31 - kDepthBits)) - 1);
  return Callables(new (std::nothrow) Annotations{Held(begin), Held(end), id},
                   annotation_functions);
}

PyMethodDef functions[] = {
    {"update_passed", Function(UpdatePassed), METH_FASTCALL,
     "updater, result, failed: it has updated the program's model, unless it failed. The first\n"
     "updater is the primary one, whose updates end steps, until another takes its place."},
    {"update_guessed", UpdateGuessed, METH_O,
     "updater: it may have. One that certainly did takes its place."},
    {"steps_declared", StepsDeclared, METH_NOARGS, "The program says itself where its steps are."},
    {"forget_updates", ForgetUpdates, METH_NOARGS, "What finds steps begins anew."},
    {"annotated_steps", MakeAnnotations, METH_VARARGS,
     "begin, end: three functions, for the making of an annotation, its begin and its end. The\n"
     "outermost of a task, or of a thread without one, calls begin(name), and end()."},
    {"simulated", Function(Simulated), METH_FASTCALL,
     "environment, result, failed: an environment, or a vector of them, has made a step."},
    {"backwards", MakeBackwards, METH_VARARGS,
     "check, unled, task, others, compilers: a function to be told of the end of a run of\n"
     "autograd's engine: engine, result, failed. Calls check(). Where nothing has made updates "
     "for\n"
     "some runs and unled() says True, each from one line ends a step, but those within another, "
     "in\n"
     "which task() is not -1. The line is the innermost in a file whose name begins with none of\n"
     "`others`, without one between that begins with any of `compilers`."},
    {"batches", MakeBatches, METH_O,
     "check: a function to be told of the end of a batch: loader, result, failed. Calls check()."},
    {"follow_forwards", FollowForwards, METH_O,
     "unled: passes forward, or batches, end steps where unled() says True; None: nothing does.\n"
     "The address of what is to be told of the end of a pass: module, result; the result."},
    {"slot_guard", MakeSlotGuard, METH_VARARGS,
     "slot, expected, repair: a function that calls repair() if the pointer at the address `slot`\n"
     "is not `expected`."},
    {"once_per_process", MakeOnce, METH_O,
     "question: a function that answers True or None, as question() did when this process first\n"
     "asked it."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* BeginDeclaredStep(uint32_t kind) {
  program_steps = true;
  uint64_t number = 0;
  return BeginStep(kind, &number) ? PyLong_FromUnsignedLongLong(number) : nullptr;
}

void EndStep() { AtStep(crosscut_step_end); }

PyObject* SetStepHook(PyObject*, PyObject* hook) {
  step_hook.Set(hook);
  Py_RETURN_NONE;
}

PyObject* FoundUpdate(PyObject* updater) { return Found({updater}, kUpdate); }

void ForgetLearner() {
  finder_mutex.ForgetHolder();
  ForgetFound();  // the weak reference stays: nothing of Python's is called here
  annotated = 0;
}

int AddStepFunctions(PyObject* module) {
  crosscut_task_local(&Annotated);
  return PyModule_AddFunctions(module, functions);
}

}  // namespace crosscut::python
