// Threads that wait for a collective of their own: spans of layer `comm`.
//
// torch.distributed tells when a collective's work begins and ends (operators.h), not who waits for
// it. Whoever waits blocks on a condition variable inside PyTorch's libraries, in Work::wait() or
// in a future's: while a thread has collectives that have not ended, such a wait is told as one for
// them.
#pragma once

#include <cstdint>

namespace crosscut::pytorch {

// A collective that the thread of PyTorch's number `thread` asked for has begun; that it ended. Any
// thread. The first one finds where the libraries wait.
void CollectiveBegan(uint64_t thread);
void CollectiveEnded(uint64_t thread);

// Whether waits are told.
void RecordWaits(bool on);

}  // namespace crosscut::pytorch
