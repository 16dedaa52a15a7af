// What PyTorch's other allocators say of themselves: devices' (CUDA's caching allocator, backends
// of their own), and files mapped as tensors.
//
// They call c10::reportMemoryUsageToProfiler() and c10::reportOutOfMemoryToProfiler(), which pass
// the report on where the thread carries a profiler's state, and drop it elsewhere. Here the
// libraries' import slots of the two functions lead to ours, which record on every thread and call
// PyTorch's. libc10 itself is left alone: its own calls are the CPU's allocator's.
//
// Threads: slots are single words; other threads may call through them meanwhile. Libraries whose
// slots were changed stay loaded for good.
#pragma once

namespace crosscut::pytorch {

// Redirects the slots of all libraries that are loaded by now, or puts them back. Call under one
// lock.
void RecordReports(bool on);
// Libraries have been loaded since. Any thread.
void RecordReportsOfNewLibraries();

}  // namespace crosscut::pytorch
