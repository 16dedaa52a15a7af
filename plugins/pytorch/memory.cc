#include "memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <crosscut/calibrate.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

namespace crosscut::pytorch {
namespace {

std::atomic<bool> recording{false};

c10::Allocator* inner = nullptr;            // PyTorch's own; set once, before ours is in place
c10::DeleterFnPtr inner_deleter = nullptr;  // of its blocks

// Frees while nothing is recorded.

struct Noted {
  std::atomic<void*> block;
  uint64_t tick;  // valid once `block` is set
};
Noted noted[kMostNoted];
constexpr uint32_t kMostCounted = 1u << 31;
std::atomic<uint32_t> noted_count{0};  // those beyond kMostNoted, too

__attribute__((noinline, cold)) void Note(void* block) {
  if (noted_count.load(std::memory_order_relaxed) >= kMostCounted) return;
  const uint32_t at = noted_count.fetch_add(1, std::memory_order_acq_rel);
  if (at >= kMostNoted) return;
  noted[at].tick = crosscut_now();
  noted[at].block.store(block, std::memory_order_release);
}

void TellForgotten(uint32_t more) {
  static uint32_t session = 0;
  static uint64_t count = 0;
  const uint32_t now = crosscut_sessions();
  count = more + (session == now ? count : 0);
  session = now;
  const std::string message = std::to_string(count) +
                              " frees in pauses and control steps, for which there was no room: "
                              "their blocks count as still there";
  crosscut_source_state("frees of memory", "", "missing", message.c_str());
}

// Their place in the stream says nothing.
void TellNoted() {
  uint32_t told = 0, count = noted_count.load(std::memory_order_acquire);
  do {  // again where more came meanwhile
    for (; told < std::min(count, kMostNoted); ++told) {
      void* block = nullptr;
      // Its writer is between two instructions, unless it was preempted there.
      for (int i = 0; i < 1000 && block == nullptr; ++i) {
        block = noted[told].block.exchange(nullptr, std::memory_order_acquire);
      }
      if (block != nullptr) crosscut_freed_at(block, noted[told].tick);
    }
  } while (!noted_count.compare_exchange_strong(count, 0, std::memory_order_acq_rel));
  if (count > kMostNoted) TellForgotten(count - kMostNoted);
}

// Before the block goes back, so that no other thread has it again by then.
void Delete(void* block) {
  if (block != nullptr) {
    if (recording.load(std::memory_order_relaxed)) {
      crosscut_freed(block);
    } else {
      Note(block);
    }
  }
  inner_deleter(block);
}

class Watched final : public c10::Allocator {
 public:
  // One of the two is PyTorch's virtual function, which one depends on its version.
  c10::DataPtr allocate(size_t bytes) { return Allocate(bytes); }
  c10::DataPtr allocate(size_t bytes) const { return Allocate(bytes); }

  c10::DeleterFnPtr raw_deleter() const override { return &Delete; }

  bool is_simple_data_ptr(const c10::DataPtr& block) const {
    return block.get() == block.get_context();
  }
  void copy_data(void* to, const void* from, size_t bytes) const { Copy(inner, to, from, bytes); }

 private:
  static c10::DataPtr Allocate(size_t bytes) {
    c10::DataPtr block = Ask(bytes);
    // A block with another deleter would be told and never freed.
    if (block.get() == nullptr || block.get() != block.get_context() ||
        !block.compare_exchange_deleter(inner_deleter, &Delete)) {
      return block;
    }
    if (__builtin_expect(recording.load(std::memory_order_relaxed), 1)) {
      crosscut_allocated(block.get(), bytes);
    }
    return block;
  }

  static c10::DataPtr Ask(size_t bytes) {
    try {
      return inner->allocate(bytes);
    } catch (...) {
      if (recording.load(std::memory_order_relaxed)) {
        const crosscut_memory asked = {0, -1, 0, static_cast<int64_t>(bytes), 0, 0};
        crosscut_out_of_memory(&asked);
      }
      throw;
    }
  }

  template <class Allocator>
  static void Copy(Allocator* allocator, void* to, const void* from, size_t bytes) {
    if constexpr (requires { allocator->copy_data(to, from, bytes); }) {
      allocator->copy_data(to, from, bytes);
    } else {
      memcpy(to, from, bytes);
    }
  }
};

// Lives as long as the process: tensors name it.
Watched& Ours() {
  static Watched* const it = new Watched;
  return *it;
}

// With the priority that is in force, and no higher: who comes later finds what was there before.
bool Set(c10::Allocator* allocator) {
  for (int priority = 0; priority <= UINT8_MAX; ++priority) {
    c10::SetAllocator(c10::DeviceType::CPU, allocator, static_cast<uint8_t>(priority));
    if (c10::GetAllocator(c10::DeviceType::CPU) == allocator) return true;
  }
  return false;
}

constexpr int kRounds = 21;
constexpr int kPairs = 200;          // of an allocation and a free, per arm of a round
constexpr int kLow = 5, kHigh = 15;  // ranks that bound the median of kRounds at 95 %

uint64_t TicksOfPairs(c10::Allocator* allocator) {
  const uint64_t begin = crosscut_ticks_();
  for (int i = 0; i < kPairs; ++i) {
    const c10::DataPtr block = allocator->allocate(256);
    // So that neither is optimised away.
    __asm__ volatile("" : : "r"(block.get()) : "memory");
  }
  return crosscut_ticks_() - begin;
}

}  // namespace

bool RecordsMemory() { return recording.load(std::memory_order_relaxed); }

bool RecordCpuMemory(bool on) {
  c10::Allocator* const now = c10::GetAllocator(c10::DeviceType::CPU);
  if (!on) {
    recording.store(false, std::memory_order_relaxed);
    return now != &Ours() || Set(inner);
  }
  if (inner == nullptr) {
    if (now->raw_deleter() == nullptr) return false;
    inner_deleter = now->raw_deleter();
    inner = now;
  }
  if (now != &Ours() && (now != inner || !Set(&Ours()))) return false;
  recording.store(true, std::memory_order_relaxed);
  if (noted_count.load(std::memory_order_relaxed) != 0) TellNoted();
  return true;
}

void CalibrateMemory() {
  c10::Allocator* const now = c10::GetAllocator(c10::DeviceType::CPU);
  if (crosscut_this_thread->enabled == 1 || now->raw_deleter() == nullptr) return;
  if (inner == nullptr) {
    inner_deleter = now->raw_deleter();
    inner = now;
  }
  PrivateChunk chunk;
  if (!chunk.ok()) return;
  std::array<double, kRounds> added;
  recording.store(true, std::memory_order_relaxed);
  for (double& round : added) {
    const auto without = static_cast<double>(TicksOfPairs(inner));
    chunk.Record(true);
    round = (static_cast<double>(TicksOfPairs(&Ours())) - without) / (2 * kPairs);
  }
  recording.store(false, std::memory_order_relaxed);

  std::sort(added.begin(), added.end());
  const double ps = 1000 * crosscut_ns_per_tick();
  auto picoseconds = [ps](double ticks) { return static_cast<int64_t>(std::max(0.0, ticks * ps)); };
  const uint32_t probe =
      crosscut_intern("allocation", 10, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  crosscut_probe_cost(probe, 0, picoseconds(added[kRounds / 2]), picoseconds(added[kLow]),
                      picoseconds(added[kHigh]), int64_t{kRounds} * 2 * kPairs);
}

}  // namespace crosscut::pytorch
