// What the device's own clock says of kernels, on the host's: the oracle of the times that are
// recorded. Prints a line of JSON: the clock's resolution, how far the two clocks are known, and for
// each kernel when it began and ended, by %globaltimer, in CLOCK_MONOTONIC's nanoseconds.
//
// A kernel that waits for a number in the host's memory answers with its time: the answer's time
// lies between the host's two readings around it. What thousands of answers leave open, at the start
// and at the end, are the two points of the line that converts one clock to the other.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t code = (call);                                                 \
    if (code != cudaSuccess) {                                                       \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(code));     \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

__device__ unsigned long long Now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__global__ void answer(volatile unsigned long long* asked, volatile unsigned long long* time,
                       volatile unsigned long long* answered, unsigned long long rounds) {
  for (unsigned long long round = 1; round <= rounds; ++round) {
    while (*asked < round) {
    }
    *time = Now();
    __threadfence_system();
    *answered = round;
  }
}

__global__ void resolution(unsigned long long* least) {
  unsigned long long best = ~0ull, last = Now();
  for (int i = 0; i < 1'000'000; ++i) {
    const unsigned long long now = Now();
    if (now != last && now - last < best) best = now - last;
    last = now;
  }
  *least = best;
}

__global__ void stamped(unsigned long long* times, unsigned long long ns) {
  const unsigned long long begin = Now();
  unsigned long long now = begin;
  while (now - begin < ns) now = Now();
  times[0] = begin;
  times[1] = now;
}

namespace {

// The device's clock plus `offset` is the host's, to +- `error`, at the device's `device`.
struct Anchor {
  unsigned long long device;
  long long offset, error;
};

long long HostNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

// What is left of the offset after all rounds: each says that it lies between two numbers.
Anchor Ask(volatile unsigned long long* words, volatile unsigned long long* on_device) {
  constexpr unsigned long long kRounds = 5000;
  for (int i = 0; i < 32; ++i) words[i] = 0;
  answer<<<1, 1>>>(on_device, on_device + 8, on_device + 16, kRounds);
  long long low = -(1ll << 62), high = 1ll << 62;
  unsigned long long device = 0;
  for (unsigned long long round = 1; round <= kRounds; ++round) {
    const long long before = HostNow();
    words[0] = round;
    while (words[16] < round) {
    }
    const long long after = HostNow();
    device = words[8];
    low = std::max(low, before - static_cast<long long>(device));
    high = std::min(high, after - static_cast<long long>(device));
  }
  CHECK(cudaDeviceSynchronize());
  return {device, low + (high - low) / 2, (high - low) / 2};
}

}  // namespace

int main() {
  constexpr int kKernels = 3000;
  constexpr unsigned long long kNs[] = {2'000, 20'000, 200'000};
  unsigned long long *words, *on_device, *least, *times;
  CHECK(cudaHostAlloc(&words, 256, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&on_device, words, 0));
  CHECK(cudaMalloc(&least, sizeof *least));
  CHECK(cudaMalloc(&times, sizeof *times * 2 * kKernels));
  resolution<<<1, 1>>>(least);
  unsigned long long resolution_ns = 0;
  CHECK(cudaMemcpy(&resolution_ns, least, sizeof resolution_ns, cudaMemcpyDeviceToHost));
  const Anchor first = Ask(words, on_device);
  for (int i = 0; i < kKernels; ++i) {
    stamped<<<1, 1>>>(times + 2 * i, kNs[i % 3]);
    // Short and long pauses: a device that idles lowers its clocks.
    if (i % 100 == 0) {
      CHECK(cudaDeviceSynchronize());
      const timespec pause = {0, i % 1000 == 0 ? 500'000'000 : 1'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  CHECK(cudaDeviceSynchronize());
  const Anchor last = Ask(words, on_device);
  std::vector<unsigned long long> taken(2 * kKernels);
  CHECK(cudaMemcpy(taken.data(), times, sizeof *times * 2 * kKernels, cudaMemcpyDeviceToHost));
  const double drift = static_cast<double>(last.offset - first.offset) /
                       static_cast<double>(last.device - first.device);
  std::printf("{\"resolution_ns\": %llu, \"error_ns\": [%lld, %lld], \"drift_ppm\": %.3f, "
              "\"seconds\": %.3f, \"kernels\": [",
              resolution_ns, first.error, last.error, drift * 1e6,
              static_cast<double>(last.device - first.device) / 1e9);
  for (int i = 0; i < kKernels; ++i) {
    const auto host = [&](unsigned long long device) {
      const double passed = static_cast<double>(static_cast<long long>(device - first.device));
      return static_cast<long long>(device) + first.offset +
             static_cast<long long>(passed * drift);
    };
    std::printf("%s[%lld, %lld]", i == 0 ? "" : ", ", host(taken[2 * i]), host(taken[2 * i + 1]));
  }
  std::printf("]}\n");
  return 0;
}
