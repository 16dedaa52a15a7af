// The memory of PyTorch's tensors, seen on all threads.
//
// The CPU: an allocator of ours stands before PyTorch's own. It asks that one, and puts its deleter
// around the block's, so a block is told when it is made and when it is freed, whoever frees it.
// Sizes and totals are added up by the reader. Devices, and files mapped as tensors: reports.h.
//
// torch.profiler's hook is not used: it sees only threads that carry its thread-local state, and
// PyTorch then keeps a table of all blocks behind one lock.
//
// What is ours stays valid for the life of the process: tensors made while it stood there name it
// as their allocator and its deleter as theirs. Blocks that are freed while it does not record are
// noted with their time, at most kMostNoted, and told when it records again.
//
// Threads: c10::SetAllocator() states no thread safety, but is the store of one pointer, and both
// values stay valid for ever; so allocators are exchanged while other threads allocate.
#pragma once

#include <cstdint>

namespace crosscut::pytorch {

inline constexpr uint32_t kMostNoted = 1 << 15;

// Puts the allocator in place and records, or the reverse. False, with nothing changed, where
// another allocator has taken the place, or its blocks cannot be followed. Call under one lock.
bool RecordCpuMemory(bool on);

// Whether allocators are to be recorded now.
bool RecordsMemory();

// What recording one allocation or free costs, as probe "allocation". Requires that nothing is
// recorded on this thread; about 1 ms.
void CalibrateMemory();

}  // namespace crosscut::pytorch
