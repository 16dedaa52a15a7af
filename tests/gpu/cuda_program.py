"""A CUDA program without a toolkit: the driver API through ctypes, one kernel in PTX.

Prints what it gave the device, as JSON: the oracle of check_cupti.py.
"""

import ctypes
import json
import os
import sys

import crosscut

if len(sys.argv) > 1:
    os.environ["CUDA_VISIBLE_DEVICES"] = sys.argv[1]

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry _Z4spinx(.param .u64 ticks) {
  .reg .u64 %t<5>;
  .reg .pred %p;
  ld.param.u64 %t0, [ticks];
  mov.u64 %t1, %clock64;
AGAIN:
  mov.u64 %t2, %clock64;
  sub.u64 %t3, %t2, %t1;
  setp.lt.u64 %p, %t3, %t0;
  @%p bra AGAIN;
  ret;
}
"""
KERNELS, COPIES, NODES, GRAPHS = 100, 20, 10, 5
BYTES = 1 << 20

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        sys.exit(f"{name}: CUDA error {code}")


def pointer():
    return ctypes.c_void_p()


def launch(function, stream, ticks):
    value = ctypes.c_uint64(ticks)
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
    call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, None)


def instantiated_graph(function, stream):
    graph, instance = pointer(), pointer()
    call("cuStreamBeginCapture_v2", stream, 2)
    for _ in range(NODES):
        launch(function, stream, 20_000)
    call("cuStreamEndCapture", stream, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_uint64(0))
    return instance


def main():
    context, module, function, memory = pointer(), pointer(), pointer(), ctypes.c_uint64()
    streams = [pointer(), pointer()]
    count = ctypes.c_int()
    call("cuInit", 0)
    call("cuDeviceGetCount", ctypes.byref(count))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"_Z4spinx")
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(BYTES))
    for stream in streams:
        call("cuStreamCreate", ctypes.byref(stream), 1)
    host = ctypes.create_string_buffer(BYTES)
    with crosscut.operation("kernels"):
        for i in range(KERNELS):
            launch(function, streams[i % 2], 100_000)
        for stream in streams:
            call("cuStreamSynchronize", stream)
    with crosscut.operation("copies"):
        for _ in range(COPIES):
            call("cuMemcpyHtoD_v2", memory, host, ctypes.c_size_t(BYTES))
            call("cuMemsetD8Async", memory, ctypes.c_ubyte(1), ctypes.c_size_t(BYTES), streams[0])
        call("cuCtxSynchronize")
    graph = instantiated_graph(function, streams[0])
    with crosscut.operation("graphs"):
        for _ in range(GRAPHS):
            call("cuGraphLaunch", graph, streams[0])
        call("cuCtxSynchronize")
    print(json.dumps({"devices": count.value, "kernels": KERNELS + NODES * GRAPHS,
                      "copies": COPIES, "sets": COPIES}))


main()
