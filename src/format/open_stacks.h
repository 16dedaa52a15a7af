// Follows which spans are open on each track, from the words of the log. An event chunk names them
// at its start, so that a reader can begin there.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/pod_vector.h"
#include "src/format/layout.h"

namespace crosscut::format {

class OpenStacks {
 public:
  OpenStacks() = default;
  ~OpenStacks();
  OpenStacks(const OpenStacks&) = delete;
  OpenStacks& operator=(const OpenStacks&) = delete;

  // Learns from session words which names do not nest (steps, phases), are operations, cross, are
  // frames, or have a probe.
  void LearnNames(std::span<const uint64_t> session_words);
  // Follows whole events that begin on `*track` and continue from one call to the next. `*track`
  // becomes the track of the last of them.
  void Follow(uint32_t* track, std::span<const uint64_t> words);
  // Name ids of the open spans, outermost first, kMaxOpenNames at most. Valid until the next call.
  std::span<const uint32_t> Open(uint32_t track);
  uint64_t memory_bytes() const { return bytes_; }

 private:
  struct Stack {
    uint32_t track = 0;
    uint64_t beyond = 0;   // open above those in `names`, which is full
    bool running = false;  // more kRunning are to come
    base::PodVector<uint32_t> names;
    Stack* next = nullptr;
  };

  Stack* Find(uint32_t track);
  void Erase(uint32_t track);
  // Name ids: a bit each for those that are a code, a list of the others.
  class NameSet {
   public:
    bool Has(uint32_t name) const;
    void Add(uint32_t name);

   private:
    uint64_t coded_[(kLastNameCode + 1) / 64] = {};
    base::PodVector<uint32_t> wide_;
  };

  void Begin(Stack* stack, uint32_t name);
  void End(Stack* stack) const;
  NameAttributes Facts(uint32_t name) const;
  void Running(Stack* stack, uint64_t payload);
  bool EndByName(uint32_t name) const { return operations_.Has(name) || crossing_.Has(name); }
  void EndNamed(Stack* stack, uint32_t name) const;
  // One event with payload; returns the stack that goes on.
  Stack* FollowOther(Stack* stack, const uint64_t* event, uint32_t* track);

  static constexpr uint32_t kBuckets = 1024;
  Stack* buckets_[kBuckets] = {};
  NameSet flat_, operations_, crossing_, hooked_;  // the first: steps and phases; the last: spans
                                                   // with a probe that do not cross
  NameSet frames_;
  Stack nowhere_;  // stands in where there is no memory
  uint64_t bytes_ = 0;
};

}  // namespace crosscut::format
