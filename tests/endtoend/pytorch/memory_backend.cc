// Stands for a device's backend in test_torch_memory.py: reports memory on a thread of its own, as
// CUDA's caching allocator does, and tells which CPU allocator is in place.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <thread>

extern "C" {

// Blocks of `bytes` each are made, then freed; then one that cannot be had is asked for.
void backend_run(int64_t blocks, int64_t bytes) {
  std::thread([=] {
    const c10::Device device(c10::DeviceType::PrivateUse1, 1);
    const int64_t reserved = 1 << 20;
    for (int64_t i = 1; i <= 2 * blocks; ++i) {
      const bool freed = i > blocks;
      const int64_t block = freed ? i - blocks : i;
      const int64_t held = (freed ? 2 * blocks - i : i) * bytes;
      c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(0x1000 * block),
                                       freed ? -bytes : bytes, held, reserved, device);
    }
    c10::reportOutOfMemoryToProfiler(int64_t{1} << 40, 7, reserved, device);
  }).join();
}

int backend_cpu_allocator_is_torchs() {
  return c10::GetAllocator(c10::DeviceType::CPU) == c10::GetDefaultCPUAllocator();
}

}  // extern "C"
