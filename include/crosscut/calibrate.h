// For the `calibrate` of a crosscut_source written in C++: what its probes cost, measured on a
// thread whose events go to memory that nobody reads but the measurement. Linux only.
#ifndef CROSSCUT_CALIBRATE_H_
#define CROSSCUT_CALIBRATE_H_

#include <crosscut/crosscut.h>
#include <stdint.h>
#include <sys/mman.h>

namespace crosscut {

// While it lives and is ok(), the thread that made it records into a chunk of its own, of the size
// of a ring's. The chunk has no end: call Record() before its 8,192 words are full.
class PrivateChunk {
 public:
  PrivateChunk() {
    // Chunks are aligned to their size: the inline path sees their ends.
    memory_ = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!ok()) return;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory_) + kBytes - 1) & ~(kBytes - 1);
    words_ = reinterpret_cast<uint64_t*>(begin);
    mine_.position = words_;
    theirs_ = crosscut_this_thread;
    crosscut_this_thread = &mine_;
  }
  ~PrivateChunk() {
    if (!ok()) return;
    crosscut_this_thread = theirs_;
    munmap(memory_, 2 * kBytes);
  }
  PrivateChunk(const PrivateChunk&) = delete;
  PrivateChunk& operator=(const PrivateChunk&) = delete;

  // False where there was no memory: the thread records as before.
  bool ok() const { return memory_ != MAP_FAILED; }

  // Empties the chunk, and records from here on or not. Requires: ok().
  void Record(bool on) {
    mine_.enabled = on ? 1 : 0;
    mine_.position = words_;
  }

  // What was recorded since.
  const uint64_t* begin() const { return words_; }
  const uint64_t* end() const { return mine_.position; }

  // Mean ticks between begin and end of the recorded spans that have none in them; 0 without any.
  double MeanInside() const {
    // Of spans and of operations. What follows the latter, their name, is never before an end.
    const auto ends = [](uint64_t word) { return (word & 0xffff) == 1 || (word & 0xffff) == 3; };
    uint64_t sum = 0, pairs = 0;
    for (const uint64_t* at = begin(); at + 1 < end(); ++at) {
      if (ends(at[0]) || !ends(at[1])) continue;
      sum += (at[1] >> 16) - (at[0] >> 16);
      ++pairs;
    }
    return pairs == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(pairs);
  }

 private:
  static constexpr uintptr_t kBytes = 64 << 10;

  void* memory_;
  uint64_t* words_ = nullptr;
  crosscut_thread mine_ = {0, 0, nullptr};
  crosscut_thread* theirs_ = nullptr;
};

}  // namespace crosscut

#endif  // CROSSCUT_CALIBRATE_H_
