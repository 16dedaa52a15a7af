// How what tables show comes into a recording: TableEntry::recorded_by.
#pragma once

namespace crosscut::analyze {

inline constexpr const char* kBySamples =
    "Python lines are sampled by default, native code, too, with: crosscut record --python=samples";
inline constexpr const char* kByAllocations =
    "allocations of PyTorch's tensors are recorded with: crosscut record --allocations; those of "
    "TensorFlow's and XLA's allocators stand in their own profiles";
inline constexpr const char* kByDevices =
    "work on devices is recorded by the sources cupti (NVIDIA), opencl and those of --plugin: "
    "table "
    "sources says which were there";
inline constexpr const char* kByCollectives =
    "collectives are recorded of torch.distributed on the host (gloo), and of devices as work "
    "there; who waited for whom is told where all ranks are in one input";
inline constexpr const char* kByFrameworks =
    "operators come from the source of a framework, such as pytorch: table sources says which were "
    "there";
inline constexpr const char* kBySteps =
    "steps are found in loops of PyTorch, Keras and Stable-Baselines3; crosscut.step() marks those "
    "of other programs";
inline constexpr const char* kNothingInSteps =
    "nothing of this kind happened in the steps that were recorded";
inline constexpr const char* kByRequests =
    "requests are found in servers of http.server, socketserver, asyncio, uvicorn and gRPC, and "
    "tasks of asyncio and thread pools stand for them where nothing else repeats; "
    "crosscut.request() marks those of other programs";
inline constexpr const char* kByLooks =
    "memory is looked at each half second, and four looks in the last two thirds of the steps are "
    "needed";
inline constexpr const char* kByArrows =
    "calls and their results are followed from process to process in programs on Ray";
inline constexpr const char* kByProgress =
    "a program tells how far it came with crosscut.progress()";

}  // namespace crosscut::analyze
