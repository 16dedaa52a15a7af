// What is open on each thread: operations, and spans that are opened and closed like them.
//
// They need not end in the order in which they began: the code between a `with` and its end may be
// a generator's, a task's or a finaliser's. One that ends under others leaves those open. What a
// task has open while it is suspended is in record_tasks.h. Parts of one count once
// (crosscut_goes_on). Name ids as from record_operation.h, which have CROSSCUT_CROSSES; all
// functions need the GIL, where there is one.
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

// What is open belongs to an earlier session (or to the parent process): forget it, everywhere.
void ForgetOpenOperations();

// From now on a forked child forgets what was open, and all threads but its own. No lock of ours is
// held while others' handlers of fork() run. Once; false without memory.
bool FollowForks();
// The child's first event: where the recorder follows forks, it opens the child's own log.
void MarkForked();

// Marks this thread as one that runs Python, once.
void ThisThreadRunsPython();
// From now on `call` is called once on each thread, before it next opens an operation. One for the
// process; it may be given anew.
void OnEachThread(void (*call)());
// Lets a thread of the recorder run operations (calibration) without becoming such a thread.
void ThisThreadIsOurs();

}  // namespace crosscut::python
