// Requests as adapters mark them, and the tasks of asyncio, each of which may be one.
//
// A task is a request from its making to its end. It is one of a function that came again
// (CROSSCUT_FOUND) unless somebody says that it handles something. What it runs is the sum of its
// slices. All functions need the GIL, where there is one.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace crosscut::python {

// request_name(text, task=False): a name for the next three; a task's is a request's only where
// nothing else repeats.
PyObject* RequestName(PyObject* module, PyObject* args);
// request_begin(name): its number; 0 where this thread does not record.
PyObject* RequestBegin(PyObject* module, PyObject* name);
// request_end(name, number, running_ns=-1): that name is the request's. Nothing is marked where
// `number` is 0 or of an earlier session, or of the process that this one was forked from.
PyObject* RequestEnd(PyObject* module, PyObject* const* args, Py_ssize_t count);

// follow_requests(done): from now on tasks are followed; done: asyncio.Future.done, of C. None: no
// more. Tasks that are written in Python are, too. task_begins() and task_made() stand around
// BaseEventLoop.create_task (record_around.cc).
PyObject* FollowRequests(PyObject* module, PyObject* done);
PyObject* TaskBegins(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* TaskMade(PyObject* module, PyObject* const* args, Py_ssize_t count);
// next_task(what): of the next task that this thread makes. "": it is like others again;
// "request": it handles one; "beside": somebody else marks its request.
PyObject* NextTask(PyObject* module, PyObject* what);
// task_is(name): the task that this thread runs handles a request of that name.
PyObject* TaskIs(PyObject* module, PyObject* name);
// task_ran(): the task that this thread runs, as a value that no other has, and for how many ns it
// has run; None: not known.
PyObject* TaskRan(PyObject* module, PyObject*);
// request_ran(): for how many ns tasks have run for the request "beside" whose task this thread
// runs: that task, what it made, and so on; -1: not known.
PyObject* RequestRan(PyObject* module, PyObject*);

// What a task runs without a pause; task null: none that is followed.
struct Slice {
  PyObject* task = nullptr;
  uint64_t begin = 0;  // tick
};
// One of `task` begins on this thread: false where it is not followed, else SliceEnds() takes what
// ran `around` it. At the end of its last one a task's request ends.
bool SliceBegins(PyObject* task, Slice* around);
void SliceEnds(PyObject* task, const Slice& around);

// In a forked child: its tasks' requests are its parent's.
void ForgetRequests();

}  // namespace crosscut::python
