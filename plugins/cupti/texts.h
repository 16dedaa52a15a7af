// The host's ids for what stands in records: kernel names, copies, argument keys.
//
// Threads: one at a time.
#pragma once

#include <crosscut/plugin.h>

#include <cstddef>
#include <cstdint>

#include "api.h"

namespace crosscut::cupti {

// Keys and values of arguments; what they mean is in docs/cupti.md.
struct Keys {
  uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
  uint32_t bytes, value, source_device, target_device;
  uint32_t graph, graph_node, source_node, external;
  uint32_t wait_ns, event, ns, thread;
  uint32_t members;  // "{}": the value is a JSON object, whose members are arguments
};

class Texts {
 public:
  Texts() = default;
  ~Texts();
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  void Prepare(const crosscut_host* host);
  const Keys& keys() const { return keys_; }

  // The id of a kernel by its name in the record, demangled; may be null. Told apart by a 64-bit
  // hash of the text, never by its address: modules come and go.
  uint32_t Kernel(const char* mangled);
  // "Memcpy HtoD (Pinned -> Device)", as PyTorch's profiler calls it.
  uint32_t Copy(unsigned kind, unsigned source, unsigned target);
  uint32_t Set(unsigned memory);  // "Memset (Device)"
  uint32_t Graph();
  uint32_t Synchronisation(unsigned type);
  uint32_t Overhead(unsigned kind);
  uint32_t Metrics();  // "Hardware metrics", of a window

 private:
  static constexpr uint32_t kSlots = 1 << 15;
  static constexpr uint32_t kMemories = 8, kCopies = 11, kWaits = 5, kOverheads = 10;
  struct Slot {
    uint64_t hash;  // of the text; 0: free
    uint32_t id;
  };
  uint32_t Name(const char* text, uint32_t layer) const;
  uint32_t Cached(uint32_t* id, const char* text, uint32_t layer) const;
  uint32_t Demangled(const char* mangled, size_t bytes) const;

  const crosscut_host* host_ = nullptr;
  Slot* kernels_ = nullptr;  // kSlots, open addressing by hash
  uint32_t used_ = 0;
  uint32_t copies_[kCopies][kMemories][kMemories] = {};
  uint32_t sets_[kMemories] = {}, waits_[kWaits] = {}, overheads_[kOverheads] = {}, graph_ = 0,
           metrics_ = 0;
  Keys keys_ = {};
};

}  // namespace crosscut::cupti
