// Marking that nobody reads: how calibration measures what a mark costs, and how a thread is kept
// from marking at all.
#pragma once

#include "src/collect/thread_state.h"

namespace crosscut::record {

// Until LeaveScratch the calling thread marks into a chunk of its own, over and over. Null: no
// memory, or the thread is already there.
ThreadState* EnterScratch();
void LeaveScratch(ThreadState* scratch);
// Its chunk is empty again.
void ResetScratch(ThreadState* scratch);
bool InScratch();

// The calling thread records nothing until its pointer, which is returned, is put back.
crosscut_thread* SuspendThisThread();
bool ThisThreadIsSuspended();

}  // namespace crosscut::record
