// A CUDA program as people write them, by the runtime's API: streams, threads, graphs with branches
// and loops, kernels that overlap in one stream, copies and memory sets of every shape.
//
//   streams_program          prints as JSON what it gave the device, by name: the oracle
//   streams_program reset    resets the device in the middle and goes on
//   streams_program fault    a kernel writes where it must not; ends with status 3
//   streams_program leave    leaves by _exit while kernels run

#include <cooperative_groups.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t code = (call);                                                 \
    if (code != cudaSuccess) {                                                       \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(code));     \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

__device__ void Wait(long long ticks) {
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
}

__global__ void spin(long long ticks) { Wait(ticks); }

__global__ void early(long long ticks) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  Wait(ticks);
}

__global__ void together(long long ticks) {
  cooperative_groups::this_grid().sync();
  Wait(ticks);
}

__global__ void outside(int* where) { *where = 1; }

#if CUDART_VERSION >= 12040
__global__ void again(cudaGraphConditionalHandle handle, int* left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}
#endif

__constant__ float constants[64];

namespace {

constexpr size_t kBytes = 1 << 20;
constexpr long long kTicks = 20'000;
std::map<std::string, int> given;

void Host(void*) {}

void Streams() {
  cudaStream_t streams[3];
  for (cudaStream_t& stream : streams) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  for (int i = 0; i < 150; ++i) spin<<<1, 32, 0, streams[i % 3]>>>(kTicks);
  spin<<<1, 32>>>(kTicks);
  spin<<<1, 32, 0, cudaStreamPerThread>>>(kTicks);
  given["spin(long long)"] += 152;
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventRecord(event, streams[0]));
  CHECK(cudaStreamWaitEvent(streams[1], event, 0));
  CHECK(cudaLaunchHostFunc(streams[1], Host, nullptr));
  CHECK(cudaEventSynchronize(event));
  for (cudaStream_t stream : streams) {
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  CHECK(cudaDeviceSynchronize());
}

void Copies() {
  void *device, *other, *pinned;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMalloc(&other, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  std::vector<char> pageable(kBytes);
  CHECK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyAsync(pinned, device, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyAsync(other, device, kBytes, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(pageable.data(), device, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy2D(device, 1024, pinned, 1024, 512, 256, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(constants, pinned, sizeof(float) * 64));
  CHECK(cudaMemset(device, 0, kBytes));
  CHECK(cudaMemsetAsync(device, 1, kBytes, cudaStreamPerThread));
  CHECK(cudaMemset2D(device, 1024, 2, 512, 256));
  void* pooled;
  CHECK(cudaMallocAsync(&pooled, kBytes, cudaStreamPerThread));
  CHECK(cudaMemsetAsync(pooled, 3, kBytes, cudaStreamPerThread));
  CHECK(cudaFreeAsync(pooled, cudaStreamPerThread));
  CHECK(cudaDeviceSynchronize());
  given["Memcpy HtoD (Pinned -> Device)"] += 3;
  given["Memcpy DtoH (Device -> Pinned)"] += 1;
  given["Memcpy DtoD (Device -> Device)"] += 1;
  given["Memcpy HtoD (Pageable -> Device)"] += 1;
  given["Memcpy DtoH (Device -> Pageable)"] += 1;
  given["Memset (Device)"] += 4;
  CHECK(cudaFree(device));
  CHECK(cudaFree(other));
  CHECK(cudaFreeHost(pinned));
}

void Overlapping() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  long long ticks = 200'000;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int i = 0; i < 10; ++i) CHECK(cudaLaunchKernelEx(&config, early, ticks));
  void* arguments[] = {&ticks};
  for (int i = 0; i < 5; ++i) {
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(together), dim3(2), dim3(32),
                                      arguments, 0, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  given["early(long long)"] += 10;
  given["together(long long)"] += 5;
}

void Threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int k = 0; k < 50; ++k) spin<<<1, 32, 0, stream>>>(kTicks);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cudaDeviceSynchronize());
  given["spin(long long)"] += 200;
}

void Graphs() {
  constexpr int kReplays = 7;
  cudaStream_t stream, branch;
  cudaEvent_t fork, join;
  void *device, *pinned;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&branch, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(branch, fork, 0));
  for (int i = 0; i < 3; ++i) spin<<<1, 32, 0, stream>>>(kTicks);
  for (int i = 0; i < 3; ++i) spin<<<1, 32, 0, branch>>>(kTicks);
  CHECK(cudaEventRecord(join, branch));
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  CHECK(cudaMemsetAsync(device, 0, kBytes, stream));
  CHECK(cudaLaunchHostFunc(stream, Host, nullptr));
  spin<<<1, 32, 0, stream>>>(kTicks);
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < kReplays; ++i) CHECK(cudaGraphLaunch(instance, stream));
  CHECK(cudaStreamSynchronize(stream));
  given["spin(long long)"] += 7 * kReplays;
  given["Memcpy HtoD (Pinned -> Device)"] += kReplays;
  given["Memset (Device)"] += kReplays;
}

void Loop() {
#if CUDART_VERSION >= 12040
  constexpr int kRounds = 6;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams node = {};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.handle = handle;
  node.conditional.type = cudaGraphCondTypeWhile;
  node.conditional.size = 1;
  cudaGraphNode_t added;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&added, graph, nullptr, nullptr, 0, &node));
#else
  CHECK(cudaGraphAddNode(&added, graph, nullptr, 0, &node));
#endif
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* left;
  const int rounds = kRounds;
  CHECK(cudaMalloc(&left, sizeof *left));
  CHECK(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
  given["Memcpy HtoD (Pageable -> Device)"] += 1;
  CHECK(cudaStreamBeginCaptureToGraph(stream, node.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal));
  spin<<<1, 32, 0, stream>>>(kTicks);
  again<<<1, 1, 0, stream>>>(handle, left);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  cudaGraphExec_t instance;
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  CHECK(cudaGraphLaunch(instance, stream));
  CHECK(cudaStreamSynchronize(stream));
  given["spin(long long)"] += kRounds;
  given["again(unsigned long long, int*)"] += kRounds;
#endif
}

int Fault() {
  spin<<<1, 32>>>(kTicks);
  CHECK(cudaDeviceSynchronize());
  outside<<<1, 1>>>(reinterpret_cast<int*>(8));
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "fault") return Fault();
  Streams();
  if (what == "reset") CHECK(cudaDeviceReset());
  if (what == "leave") {
    for (int i = 0; i < 100; ++i) spin<<<1, 32>>>(10'000'000);
    _exit(5);
  }
  Copies();
  Overlapping();
  Threads();
  Graphs();
  if (what != "reset") Loop();
  const char* separator = "{";
  for (const auto& [name, times] : given) {
    std::printf("%s\"%s\": %d", separator, name.c_str(), times);
    separator = ", ";
  }
  std::printf("}\n");
  return 0;
}
