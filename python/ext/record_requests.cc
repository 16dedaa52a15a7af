#include "python/ext/record_requests.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_callable.h"
#include "python/ext/record_cost_mark.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

// ---- Numbers that know of which session and process they are ----

constexpr int kNumberBits = 48;
constexpr int64_t kAges = 0x1fff;
std::atomic<int64_t> forks{0};

int64_t Age() { return (crosscut_sessions() + forks.load(std::memory_order_relaxed)) & kAges; }

int64_t Begin(uint32_t name) {
  ThisThreadRunsPython();
  const int64_t number = crosscut_request_begin(name);
  return number == 0 ? 0 : number | Age() << kNumberBits;
}

void End(uint32_t name, int64_t aged, int64_t running_ns) {
  if ((aged >> kNumberBits & kAges) != Age()) return;
  crosscut_request_end(name, aged & ~(kAges << kNumberBits), running_ns);
}

// ---- Tasks ----

enum class Next : uint8_t { kTask, kRequest, kBeside };

struct Task {
  uint32_t name = 0;
  int64_t number = 0;  // 0: somebody else marks its request, or nobody
  // It is none but by TaskIs(): its process has steps.
  bool left_out = false;
  uint64_t ran = 0;  // ticks
  // Ticks that tasks have run for a request beside, shared by these.
  std::shared_ptr<uint64_t> for_request = nullptr;
  PyObject* gone = nullptr;  // a weak reference, which tells that it is destroyed; null: none could
  // As long as create_task() lasts:
  PyObject* coroutine = nullptr;  // borrowed
  uint64_t begun = 0;             // tick, later by what those that it made ran in it
};

struct Tasks {
  PyObject* done = nullptr;  // null: they are not followed
  std::unordered_map<PyObject*, Task> by_address;
};
// Under the GIL; where there is none, under shared_mutex. Never destroyed.
Tasks& AllTasks() {
  static auto* const all = new Tasks;
  return *all;
}
std::atomic<bool> followed{false};

struct OfThread {
  std::vector<Task> making;  // tasks that create_task() is about to make
  Slice slice;               // that runs
  Next next = Next::kTask;
};
OfThread& ThisThread() {
  static thread_local OfThread of_thread;
  return of_thread;
}

template <class Visit>
bool WithTask(PyObject* task, Visit visit) {
  const std::lock_guard lock(shared_mutex);
  const auto at = AllTasks().by_address.find(task);
  if (at == AllTasks().by_address.end()) return false;
  visit(&at->second);
  return true;
}

// To ask for the length of a tick takes longer than most tasks: each some tenths of a second.
int64_t NsOf(uint64_t ticks) {
  static std::atomic<uint64_t> asked{0};
  static std::atomic<double> ns_per_tick{0};
  const uint64_t now = crosscut_now();
  if (asked == 0 || now - asked > uint64_t{1} << 30) {
    ns_per_tick = crosscut_ns_per_tick();
    asked = now;
  }
  return static_cast<int64_t>(static_cast<double>(ticks) * ns_per_tick);
}

NameIds request_names(CROSSCUT_STEP, CROSSCUT_ASYNC);
NameIds task_names(CROSSCUT_STEP, CROSSCUT_ASYNC | CROSSCUT_FOUND);

// 0 with an exception.
uint32_t IdOf(PyObject* text, bool task) {
  NameIds& known = task ? task_names : request_names;
  return known.Make() ? known.Of(text) : 0;
}

// By the function of a coroutine. What is none may run the program's code when it is asked.
uint32_t NameOfCoroutine(PyObject* coroutine, bool task) {
  static PyObject* const qualname = PyUnicode_InternFromString("__qualname__");
  const bool plain = PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine);
  const Ref text(plain ? PyObject_GetAttr(coroutine, qualname)
                       : PyUnicode_FromString(Py_TYPE(coroutine)->tp_name));
  const uint32_t id = text ? IdOf(text.get(), task) : 0;
  PyErr_Clear();
  return id;
}

enum class State : uint8_t { kUnknown, kPending, kDone };

// Of a task of C, or one of Python (nest_asyncio's, a task factory's), which says it by a text.
// Others are not asked.
State StateOf(PyObject* task) {
  static PyObject* const state = PyUnicode_InternFromString("_state");
  PyObject* const done = AllTasks().done;
  if (done == nullptr) return State::kUnknown;
  const bool of_c = PyObject_TypeCheck(task, PyDescr_TYPE(done)) != 0;
  const bool asked = of_c || Py_TYPE(task)->tp_getattro == PyObject_GenericGetAttr;
  const Ref answer(!asked ? nullptr
                   : of_c ? PyObject_CallOneArg(done, task)
                          : PyObject_GenericGetAttr(task, state));
  if (!answer) PyErr_Clear();
  if (!answer || (!of_c && !PyUnicode_CheckExact(answer.get()))) return State::kUnknown;
  const bool waits = of_c ? answer.get() != Py_True
                          : PyUnicode_CompareWithASCIIString(answer.get(), "PENDING") == 0;
  return waits ? State::kPending : State::kDone;
}

void Finish(PyObject* object) {
  Task task;
  {
    const std::lock_guard lock(shared_mutex);
    auto& all = AllTasks().by_address;
    const auto at = all.find(object);
    if (at == all.end()) return;
    task = at->second;
    all.erase(at);
  }
  if (task.number != 0) End(task.name, task.number, NsOf(task.ran));
  Py_XDECREF(task.gone);
}

// A task that nobody waits for and nobody keeps is destroyed before it is done. Its address may be
// another's then.
PyObject* TaskGone(PyObject* address, PyObject*) {
  const PendingException kept;
  Finish(static_cast<PyObject*>(PyLong_AsVoidPtr(address)));
  Py_RETURN_NONE;
}

PyObject* TellOfEnd(PyObject* task) {
  static PyMethodDef method = {"task_gone", TaskGone, METH_O, nullptr};
  const Ref address(PyLong_FromVoidPtr(task));
  const Ref tell(address ? PyCFunction_New(&method, address.get()) : nullptr);
  PyObject* const gone = tell ? PyWeakref_NewRef(task, tell.get()) : nullptr;
  if (gone == nullptr) PyErr_Clear();
  return gone;
}

// Takes over the reference that tells of its end.
void Put(PyObject* address, Task task) {
  {
    const std::lock_guard lock(shared_mutex);
    std::swap(AllTasks().by_address[address], task);
  }
  Py_XDECREF(task.gone);
}

// Without marking an end.
void ForgetTasks() {
  std::unordered_map<PyObject*, Task> all;
  {
    const std::lock_guard lock(shared_mutex);
    all.swap(AllTasks().by_address);
  }
  for (const auto& [address, task] : all) Py_XDECREF(task.gone);
}

// To mark there takes twice as long, and no comparison with control steps would show it.
bool InControlStep() {
  return __atomic_load_n(&crosscut_this_thread->enabled, __ATOMIC_RELAXED) != 1 &&
         crosscut_in_control() != 0;
}

// Whether a task that waits ran while it was made.
bool HasRun(PyObject* coroutine) {
#if PY_VERSION_HEX >= 0x030c0000
  static PyObject* const suspended = PyUnicode_InternFromString("cr_suspended");
  if (!PyCoro_CheckExact(coroutine)) return false;
  const PendingException kept;
  const Ref answer(PyObject_GetAttr(coroutine, suspended));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
#else
  (void)coroutine;
  return false;
#endif
}

// What ran while it was made is the task's, and not what made it.
void AddEager(OfThread* here, Task* task) {
  const uint64_t ran = crosscut_now() - task->begun;
  task->ran += ran;
  if (task->for_request != nullptr) *task->for_request += ran;
  (here->making.empty() ? here->slice.begin : here->making.back().begun) += ran;
}

// ---- What they cost ----

CostMark of_tasks("requests of tasks (64 tasks)", /*records=*/true);
CostMark of_slices("requests of tasks (64 slices)");
thread_local bool measuring = false;  // one of them, by what would be counted

// Measures by `task`, which is followed and goes on as if nothing had been.
template <class Once>
void MeasureBy(PyObject* task, CostMark* mark, Once once) {
  Task before;
  uint64_t for_request = 0;
  const bool known = WithTask(task, [&](Task* of) {
    before = *of;
    Py_XINCREF(before.gone);
    if (of->for_request != nullptr) for_request = *of->for_request;
  });
  if (!known) return;  // they are followed no more
  Slice slice = ThisThread().slice;
  const uint64_t begin = crosscut_now();
  measuring = true;
  mark->Measure(once);
  measuring = false;
  slice.begin += crosscut_now() - begin;
  ThisThread().slice = slice;
  Put(task, before);
  const std::lock_guard lock(shared_mutex);
  if (before.for_request != nullptr) *before.for_request = for_request;
}

// What stands around create_task(), and a task's last slice.
void CountTask(PyObject* task, PyObject* coroutine) {
  static thread_local int tasks = 0;
  if (measuring || !of_tasks.Count(&tasks)) return;
  MeasureBy(task, &of_tasks, [task, coroutine](PyObject* none) {
    PyObject* begins[] = {none, coroutine};
    PyObject* made[] = {none, task, Py_False};
    for (const bool begun : {false, true}) {
      const PendingException kept;
      const Unseen unseen;
      Py_XDECREF(begun ? TaskMade(nullptr, made, 3) : TaskBegins(nullptr, begins, 2, nullptr));
    }
    Slice around;
    if (SliceBegins(task, &around)) SliceEnds(task, around);
    Finish(task);
  });
}

void CountSlice(PyObject* task) {
  static thread_local int slices = 0;
  if (measuring || !of_slices.Count(&slices)) return;
  MeasureBy(task, &of_slices, [task](PyObject*) {
    Slice around;
    if (SliceBegins(task, &around)) SliceEnds(task, around);
  });
}

}  // namespace

PyObject* RequestName(PyObject*, PyObject* args) {
  PyObject* text = nullptr;
  int task = 0;
  if (!PyArg_ParseTuple(args, "O|p:request_name", &text, &task)) return nullptr;
  const uint32_t id = IdOf(text, task != 0);
  return PyErr_Occurred() != nullptr ? nullptr : PyLong_FromUnsignedLong(id);
}

PyObject* RequestBegin(PyObject*, PyObject* name) {
  const unsigned long id = PyLong_AsUnsignedLong(name);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromLongLong(Begin(static_cast<uint32_t>(id)));
}

PyObject* RequestEnd(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 && count != 3) {
    PyErr_SetString(PyExc_TypeError, "request_end() takes a name, a number and running_ns");
    return nullptr;
  }
  const unsigned long id = PyLong_AsUnsignedLong(args[0]);
  const int64_t number = PyLong_AsLongLong(args[1]);
  const int64_t running = count == 3 ? PyLong_AsLongLong(args[2]) : -1;
  if (PyErr_Occurred() != nullptr) return nullptr;
  ThisThreadRunsPython();
  End(static_cast<uint32_t>(id), number, running);
  Py_RETURN_NONE;
}

PyObject* FollowRequests(PyObject*, PyObject* done) {
  Ref kept = Ref::Borrow(done == Py_None ? nullptr : done);
  {
    const std::lock_guard lock(shared_mutex);
    kept = Ref(std::exchange(AllTasks().done, kept.release()));
  }
  if (done == Py_None) ForgetTasks();
  followed.store(done != Py_None, std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyObject* TaskBegins(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  OfThread& here = ThisThread();
  const Next next = std::exchange(here.next, Next::kTask);
  static PyObject* const keyword = PyUnicode_InternFromString("coro");
  PyObject* const coroutine = Argument(args, count, keywords, 1, keyword);
  if (coroutine == nullptr || !crosscut_recording()) Py_RETURN_NONE;
  // A task factory makes it by create_task() again.
  if (!here.making.empty() && here.making.back().coroutine == coroutine) Py_RETURN_NONE;
  Task task;
  task.coroutine = coroutine;
  if (next == Next::kBeside) {
    task.for_request = std::make_shared<uint64_t>(0);
  } else {
    task.left_out = next == Next::kTask && InControlStep();
    task.name = task.left_out ? 0 : NameOfCoroutine(coroutine, next == Next::kTask);
    task.number = task.name == 0 ? 0 : Begin(task.name);
    WithTask(here.slice.task, [&task](Task* maker) { task.for_request = maker->for_request; });
  }
  task.begun = crosscut_now();
  here.making.push_back(task);
  Py_RETURN_TRUE;
}

PyObject* TaskMade(PyObject*, PyObject* const* args, Py_ssize_t count) {
  OfThread& here = ThisThread();
  if (count != 3 || here.making.empty()) Py_RETURN_NONE;
  Task task = here.making.back();
  here.making.pop_back();
  PyObject* const made = args[1];
  if (args[2] == Py_True || made == Py_None) {
    End(task.name, task.number, 0);
    Py_RETURN_NONE;
  }
  const State state = StateOf(made);
  if (state == State::kUnknown) Py_RETURN_NONE;  // nothing would tell its end
  if (state == State::kDone || HasRun(task.coroutine)) AddEager(&here, &task);
  PyObject* const coroutine = task.coroutine;
  task.gone = TellOfEnd(made);
  Put(made, task);
  if (state == State::kDone) {
    Finish(made);  // it ran while it was made
  } else {
    CountTask(made, coroutine);
  }
  Py_RETURN_NONE;
}

PyObject* NextTask(PyObject*, PyObject* what) {
  const char* text = PyUnicode_AsUTF8(what);
  if (text == nullptr) return nullptr;
  ThisThread().next = text[0] == 'r'   ? Next::kRequest
                      : text[0] == 'b' ? Next::kBeside
                                       : Next::kTask;
  Py_RETURN_NONE;
}

PyObject* TaskIs(PyObject*, PyObject* name) {
  const unsigned long id = PyLong_AsUnsignedLong(name);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto text = static_cast<uint32_t>(id);
  bool left_out = false;
  const bool known = WithTask(ThisThread().slice.task, [&](Task* task) {
    task->name = text;
    left_out = std::exchange(task->left_out, false);
  });
  if (left_out) {
    const int64_t number = Begin(text);
    WithTask(ThisThread().slice.task, [number](Task* task) { task->number = number; });
  }
  return PyBool_FromLong(known);
}

PyObject* TaskRan(PyObject*, PyObject*) {
  const OfThread& here = ThisThread();
  const Slice& slice = here.slice;
  Task task;
  // While another is made it may run already.
  if (!here.making.empty() || !WithTask(slice.task, [&task](Task* of) { task = *of; })) {
    Py_RETURN_NONE;
  }
  const int64_t ran = NsOf(task.ran + crosscut_now() - slice.begin);
  return Py_BuildValue("(nL)L", reinterpret_cast<Py_ssize_t>(slice.task), task.number, ran);
}

PyObject* RequestRan(PyObject*, PyObject*) {
  const Slice& slice = ThisThread().slice;
  std::shared_ptr<uint64_t> ran;
  uint64_t before = 0;
  WithTask(slice.task, [&](Task* task) {
    ran = task->for_request;
    if (ran != nullptr) before = *ran;
  });
  return PyLong_FromLongLong(ran == nullptr ? -1 : NsOf(before + crosscut_now() - slice.begin));
}

bool SliceBegins(PyObject* task, Slice* around) {
  if (!followed.load(std::memory_order_relaxed)) return false;
  if (!WithTask(task, [](Task*) {})) return false;
  *around = std::exchange(ThisThread().slice, {task, crosscut_now()});
  return true;
}

void SliceEnds(PyObject* task, const Slice& around) {
  const Slice slice = std::exchange(ThisThread().slice, around);
  const uint64_t ran = crosscut_now() - slice.begin;
  const bool known = slice.task == task && WithTask(task, [ran](Task* of) {
                       of->ran += ran;
                       if (of->for_request != nullptr) *of->for_request += ran;
                     });
  if (!known) return;
  const PendingException kept;
  if (StateOf(task) == State::kDone) {
    Finish(task);
  } else {
    CountSlice(task);
  }
}

void ForgetRequests() {
  ForgetTasks();
  ThisThread() = {};
  forks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace crosscut::python
