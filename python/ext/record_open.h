// What record_stack.cc and record_tasks.cc share: the stack of what a thread has open.
//
// One discipline for all threads, with the GIL or without: a stack is its own thread's. Other
// threads mark one of its entries as left, and that alone; they do so under the lock, and under it
// the thread moves entries and takes its stack out of the list. Pushing and popping need no lock:
// an entry that is popped while it is marked ends by its own thread. The lock is held over nothing
// that waits, marks or calls.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace crosscut::python {

struct SuspendedTasks;  // record_tasks.cc

enum class Left : uint64_t { kNo, kOpen, kEnded };  // open by another thread, which ended it

struct Open {
  uint64_t word;         // its name, and above it how it was left: NameOf(), LeftOf()
  uint32_t begun;        // the id of its last part
  uint32_t inside;       // how many of its name lay in it when that was cut, at the tick:
  uint64_t cut;          // 0: it was not
  uint32_t part;         // the id under which it goes on; 0: not known yet
  uint64_t slice : 62;   // of the task that opened it; 0: none
  uint64_t goes : 1;     // for Cut()
  uint64_t crosses : 1;  // its name has CROSSCUT_CROSSES: its end leaves open what lies in it
};

inline uint64_t WordOf(uint32_t name, Left left) {
  return static_cast<uint64_t>(left) << 32 | name;
}
inline uint64_t WordOf(const Open& open) { return __atomic_load_n(&open.word, __ATOMIC_RELAXED); }
inline uint32_t NameOf(const Open& open) { return static_cast<uint32_t>(WordOf(open)); }
inline Left LeftOf(const Open& open) { return static_cast<Left>(WordOf(open) >> 32); }

struct OpenStack {
  OpenStack* next = nullptr;            // under the lock
  Open* open = nullptr;                 // changes under the lock, as does:
  std::atomic<uint32_t> generation{0};  // that knows of them
  std::atomic<uint32_t> depth{0};       // read by others
  std::atomic<bool> has_left{false};    // set by others
  std::atomic<bool> runs_tasks{false};  // read by others
  uint32_t called = 0;                  // which OnEachThread() it has had
  uint32_t capacity = 0;
  uint64_t slice = 0;              // of the task that runs; 0: none
  uint64_t slices = 0;             // so far
  PyObject* started_in = nullptr;  // StartInTask()
  SuspendedTasks* suspended = nullptr;
  std::vector<uint32_t> voids;  // names that were open when another session began: they end unseen
};

// This thread's; null: none yet.
OpenStack* ThisStack();
// Makes one. `python`: the thread runs the program's Python. Null without memory.
OpenStack* MakeStack(bool python);

// Makes the stack fit for a push: nothing of an earlier session, nothing that others left, room for
// one more. False without memory.
bool Settle(OpenStack* stack);
// Begins one, after Settle(). `crosses`: of a name with CROSSCUT_CROSSES.
void Push(OpenStack* stack, uint32_t name, bool crosses);
// Ends one of that name that this thread opened, in a suspended task, too. False: there is none.
// `gil`: the thread has it, where there is one.
bool CloseHere(OpenStack* stack, uint32_t name, bool gil);
// Marks one of that name that another thread has open (`only_tasks`: a thread that runs tasks).
// False: there is none.
bool LeaveElsewhere(uint32_t name, Left left, bool only_tasks);

// From place `from` on: ends those that are to go and gives them to `taken`, which may be null. The
// others are cut and go on.
void Cut(OpenStack* stack, uint32_t from, std::vector<Open>* taken);
// Begins again what Cut() took, as the slice's that runs, on the same thread.
void PutBack(OpenStack* stack, std::vector<Open>* taken);
// The end of what is not to go on is to end nothing, on no thread.
void MakeVoid(OpenStack* stack, const Open* open, size_t count);

// ---- record_tasks.cc: the tasks of a thread that are suspended ----

// One of theirs of that name, which is closed already: a task that is thrown away.
bool CloseSuspended(SuspendedTasks* suspended, uint32_t name, bool gil);
// A new session: none has anything open, but calls that are under way go on.
void ForgetSuspended(OpenStack* stack);
// The thread ends, without the GIL.
void LeaveSuspended(SuspendedTasks* suspended);

}  // namespace crosscut::python
