// Tasks (of asyncio, greenlets) that take turns on a thread: what one has open ends while it is
// suspended and goes on where it does, so the innermost one open is the innermost of what runs.
//
// What a task has open is kept with a weak reference to it, so that none that comes to lie at its
// address takes over; an object without such references closes what it leaves open. All functions
// need the GIL, where there is one; on threads that run tasks crosscut_open() and crosscut_close()
// come here without it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>

#include "crosscut/crosscut.h"

namespace crosscut::python {

// The variables of a task: crosscut_task_locals().
using Locals = std::array<int32_t, CROSSCUT_TASK_LOCALS>;

// What a thread runs around a task, for LeaveTask().
struct Outer {
  uint64_t slice = 0;  // 0: no task
  Locals locals{};
};

// This thread runs tasks, or may: from now on crosscut_open() of this thread opens here.
void ThisThreadRunsTasks();

// From now on, until LeaveTask(), this thread runs `task` inside what it runs already, and opens
// again what that had open. LeaveTask() suspends what the task has open. Of its variables the task
// keeps those that it has changed; the others are those of what it runs in.
Outer EnterTask(PyObject* task);
void LeaveTask(PyObject* task, const Outer& outer);
// The same for one that is not made yet: LeaveTask() says which.
Outer EnterNewTask();
// This thread runs `task` already: what it opens from now on is the task's, until the next
// EnterTask().
void StartInTask(PyObject* task);

// The thread goes from one task to another, which is not inside it, in the middle of a call: each
// has variables of its own (crosscut_task_local). What was opened before any switch is `from`'s.
// Whether neither has anything open, nor any other of the thread.
bool SwitchTask(PyObject* from, PyObject* to);

}  // namespace crosscut::python
