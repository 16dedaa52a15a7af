// What is open on each thread: operations, and spans that are opened and closed like them.
//
// They need not end in the order in which they began: the code between a `with` and its end may be
// a generator's, a task's or a finaliser's. One that ends under others leaves those open. What a
// task (of asyncio, a greenlet) has open ends while the task is suspended and goes on where it
// does, so the innermost one open is the innermost of what runs. Parts of one count once
// (crosscut_goes_on). Name ids as from crosscut_intern(); all functions need the GIL, where there
// is one, but on threads that run tasks crosscut_open() and crosscut_close() come here without it.
#pragma once

#include <cstdint>

#include "python/ext/record_shared.h"

namespace crosscut::python {

// Opens and closes an operation on this thread. A close with no open operation of that name here,
// or in a suspended task of this thread, ends one that another thread left open (when that thread
// next opens or closes one), else does nothing. But one that this thread opened in an earlier
// session ends nothing, nor does one of `*unseen`: blocks that were entered while nothing was
// recorded and are not left yet, of which it takes one off.
void OpenOperation(uint32_t name);
void CloseOperation(uint32_t name, Tally* unseen = nullptr);

// The same for a block of code: opens where this thread records, and tells whether it did, in which
// case the end of the block is ExitOperation(). Names of MakeSpan() too.
bool EnterOperation(uint32_t name);
void ExitOperation(uint32_t name, Tally* unseen = nullptr);
// Whether one of that name is open on this thread, in the task that runs or around it.
bool IsOpen(uint32_t name);

// Open on this thread, for tests; without those of suspended tasks.
uint32_t OpenDepth();

// This thread runs tasks, or may: from now on crosscut_open() of this thread opens here.
void ThisThreadRunsTasks();
// From now on this thread runs `task` (any address of its own while it has something open; null:
// none) inside what it runs already, and opens again what that had open. Returns what ran before,
// for LeaveTask(), which suspends what the task that runs has open.
const void* EnterTask(const void* task);
void LeaveTask(const void* before);
// The thread goes from one task to another, which is not inside it, in the middle of a call: each
// has variables of its own (crosscut_task_local). What was opened before any switch is `from`'s.
void SwitchTask(const void* from, const void* to);

// What is open belongs to an earlier session (or to the parent process): forget it, everywhere.
void ForgetOpenOperations();

// Around fork(), so that the child finds the list of threads unlocked and only itself in it.
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Marks this thread as one that runs Python, once.
void ThisThreadRunsPython();
// Lets a thread of the recorder run operations (calibration) without becoming such a thread.
void ThisThreadIsOurs();

}  // namespace crosscut::python
