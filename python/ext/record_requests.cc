#include "python/ext/record_requests.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"

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
  uint64_t ran = 0;    // ticks
  // Ticks that tasks have run for a request beside, shared by these.
  std::shared_ptr<uint64_t> for_request = nullptr;
  PyObject* gone = nullptr;  // a weak reference, which tells that it is destroyed; null: none could
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

int64_t NsOf(uint64_t ticks) {
  return static_cast<int64_t>(static_cast<double>(ticks) * crosscut_ns_per_tick());
}

SharedDict names[2];  // text -> id; of requests, of tasks

// 0 with an exception.
uint32_t IdOf(PyObject* text, bool task) {
  SharedDict& known = names[task ? 1 : 0];
  if (!known.Make()) return 0;
  if (PyObject* number = known.Get(text)) {
    const auto id = static_cast<uint32_t>(PyLong_AsUnsignedLong(number));
    Py_DECREF(number);
    return id;
  }
  if (PyErr_Occurred() != nullptr) return 0;
  const uint32_t id = NameId(text, CROSSCUT_STEP, CROSSCUT_LAYER_NONE,
                             CROSSCUT_ASYNC | (task ? CROSSCUT_FOUND : 0));
  PyObject* number = id == 0 ? nullptr : PyLong_FromUnsignedLong(id);
  if (number == nullptr || !known.Set(text, number)) PyErr_Clear();
  Py_XDECREF(number);
  return id;
}

// By the function of a coroutine. What is none may run the program's code when it is asked.
uint32_t NameOfCoroutine(PyObject* coroutine, bool task) {
  PyObject* text = nullptr;
  if (PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)) {
    text = PyObject_GetAttrString(coroutine, "__qualname__");
  } else {
    text = PyUnicode_FromString(Py_TYPE(coroutine)->tp_name);
  }
  const uint32_t id = text == nullptr ? 0 : IdOf(text, task);
  Py_XDECREF(text);
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
  State out = State::kUnknown;
  PyObject* answer;
  if (PyObject_TypeCheck(task, PyDescr_TYPE(done))) {
    answer = PyObject_CallOneArg(done, task);
    if (answer != nullptr) out = answer == Py_True ? State::kDone : State::kPending;
  } else {
    const bool plain = Py_TYPE(task)->tp_getattro == PyObject_GenericGetAttr;
    answer = plain ? PyObject_GenericGetAttr(task, state) : nullptr;
    if (answer != nullptr && PyUnicode_CheckExact(answer)) {
      const bool waits = PyUnicode_CompareWithASCIIString(answer, "PENDING") == 0;
      out = waits ? State::kPending : State::kDone;
    }
  }
  if (answer == nullptr) PyErr_Clear();
  Py_XDECREF(answer);
  return out;
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
  PyObject* const address = PyLong_FromVoidPtr(task);
  PyObject* const tell = address == nullptr ? nullptr : PyCFunction_New(&method, address);
  PyObject* const gone = tell == nullptr ? nullptr : PyWeakref_NewRef(task, tell);
  if (gone == nullptr) PyErr_Clear();
  Py_XDECREF(tell);
  Py_XDECREF(address);
  return gone;
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

PyObject* Coroutine(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (count > 1) return args[1];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), "coro") == 0) {
      return args[count + i];
    }
  }
  return nullptr;
}

}  // namespace

PyObject* RequestName(PyObject*, PyObject* args) {
  PyObject* text = nullptr;
  int task = 0;
  if (!PyArg_ParseTuple(args, "O|p:request_name", &text, &task)) return nullptr;
  text = AsText(text);
  if (text == nullptr) return nullptr;
  const uint32_t id = IdOf(text, task != 0);
  Py_DECREF(text);
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
  Py_INCREF(done);
  PyObject* before;
  {
    const std::lock_guard lock(shared_mutex);
    before = std::exchange(AllTasks().done, done == Py_None ? nullptr : done);
  }
  if (done == Py_None) ForgetTasks();
  followed.store(done != Py_None, std::memory_order_relaxed);
  if (done == Py_None) Py_DECREF(done);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

PyObject* TaskBegins(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  OfThread& here = ThisThread();
  const Next next = std::exchange(here.next, Next::kTask);
  PyObject* const coroutine = Coroutine(args, count, keywords);
  if (coroutine == nullptr || !crosscut_recording()) Py_RETURN_NONE;
  Task task;
  if (next == Next::kBeside) {
    task.for_request = std::make_shared<uint64_t>(0);
  } else {
    task.name = NameOfCoroutine(coroutine, next == Next::kTask);
    task.number = task.name == 0 ? 0 : Begin(task.name);
    WithTask(here.slice.task, [&task](Task* maker) { task.for_request = maker->for_request; });
  }
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
  task.gone = TellOfEnd(made);
  {
    const std::lock_guard lock(shared_mutex);
    std::swap(AllTasks().by_address[made], task);
  }
  Py_XDECREF(task.gone);
  if (state == State::kDone) Finish(made);  // it ran while it was made
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
  const bool known = WithTask(ThisThread().slice.task,
                              [id](Task* task) { task->name = static_cast<uint32_t>(id); });
  return PyBool_FromLong(known);
}

PyObject* TaskRan(PyObject*, PyObject*) {
  const Slice& slice = ThisThread().slice;
  uint64_t ran = 0;
  const bool known = WithTask(slice.task, [&ran](Task* task) { ran = task->ran; });
  return PyLong_FromLongLong(known ? NsOf(ran + crosscut_now() - slice.begin) : -1);
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
  if (StateOf(task) == State::kDone) Finish(task);
}

void ForgetRequests() {
  ForgetTasks();
  ThisThread() = {};
  forks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace crosscut::python
