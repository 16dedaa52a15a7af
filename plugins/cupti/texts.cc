#include "texts.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

// The demangler recurses over its input.
constexpr size_t kLongestToDemangle = 16384;
constexpr size_t kLongestName = 1 << 20;

constexpr const char* kMemory[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                   "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr const char* kCopy[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                 "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};

// FNV-1a by words: names are hundreds of bytes, and every record's is hashed.
uint64_t Hash(const char* text, size_t bytes) {
  constexpr uint64_t kPrime = 0x100000001b3u;
  uint64_t hash = 0xcbf29ce484222325u ^ bytes;
  for (; bytes >= 8; bytes -= 8, text += 8) {
    uint64_t word;
    std::memcpy(&word, text, 8);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  uint64_t word = 0;
  std::memcpy(&word, text, bytes);
  hash = (hash ^ word) * kPrime;
  hash ^= hash >> 32;
  return hash | 1;
}

}  // namespace

Texts::~Texts() { std::free(kernels_); }

void Texts::Prepare(const crosscut_host* host) {
  host_ = host;
  kernels_ = static_cast<Slot*>(std::calloc(kSlots, sizeof(Slot)));
  const struct {
    uint32_t* key;
    const char* text;
  } all[] = {{&keys_.grid_x, "grid_x"},
             {&keys_.grid_y, "grid_y"},
             {&keys_.grid_z, "grid_z"},
             {&keys_.block_x, "block_x"},
             {&keys_.block_y, "block_y"},
             {&keys_.block_z, "block_z"},
             {&keys_.registers, "registers"},
             {&keys_.static_shared_bytes, "static_shared_bytes"},
             {&keys_.dynamic_shared_bytes, "dynamic_shared_bytes"},
             {&keys_.bytes, "bytes"},
             {&keys_.value, "value"},
             {&keys_.source_device, "source_device"},
             {&keys_.target_device, "target_device"},
             {&keys_.graph, "graph"},
             {&keys_.graph_node, "graph_node"},
             {&keys_.source_node, "source_node"},
             {&keys_.external, "external"},
             {&keys_.wait_ns, "wait_ns"},
             {&keys_.event, "event"},
             {&keys_.ns, "ns"},
             {&keys_.thread, "thread"},
             {&keys_.members, "{}"}};
  for (const auto& entry : all) *entry.key = host->word(host->host, entry.text, SIZE_MAX);
}

uint32_t Texts::Name(const char* text, uint32_t layer) const {
  return host_->name(host_->host, text, SIZE_MAX, layer, 0);
}

uint32_t Texts::Demangled(const char* mangled, size_t bytes) const {
  int status = -1;
  char* text = nullptr;
  if (bytes <= kLongestToDemangle && bytes > 2 && mangled[0] == '_' && mangled[1] == 'Z') {
    text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  }
  const uint32_t id = text != nullptr
                          ? Name(text, CROSSCUT_ON_DEVICE)
                          : host_->name(host_->host, mangled, bytes, CROSSCUT_ON_DEVICE, 0);
  std::free(text);
  return id;
}

uint32_t Texts::Kernel(const char* mangled) {
  if (mangled == nullptr) mangled = "(unnamed kernel)";
  const size_t bytes = strnlen(mangled, kLongestName);
  if (kernels_ == nullptr) return Demangled(mangled, bytes);
  const uint64_t hash = Hash(mangled, bytes);
  uint32_t at = static_cast<uint32_t>(hash >> 32) % kSlots;
  while (kernels_[at].hash != 0) {
    if (kernels_[at].hash == hash) return kernels_[at].id;
    at = (at + 1) % kSlots;
  }
  const uint32_t id = Demangled(mangled, bytes);
  // Half full is where it stays: further names are looked up at the host each time.
  if (id != 0 && used_ < kSlots / 2) {
    kernels_[at] = {hash, id};
    ++used_;
  }
  return id;
}

uint32_t Texts::Copy(unsigned kind, unsigned source, unsigned target) {
  kind = kind < kCopies ? kind : 0;
  source = source < kMemories ? source : 0;
  target = target < kMemories ? target : 0;
  uint32_t& id = copies_[kind][source][target];
  if (id == 0) {
    char text[80];
    std::snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", kCopy[kind], kMemory[source],
                  kMemory[target]);
    id = Name(text, CROSSCUT_ON_DEVICE);
  }
  return id;
}

uint32_t Texts::Cached(uint32_t* id, const char* text, uint32_t layer) const {
  if (*id == 0) *id = Name(text, layer);
  return *id;
}

uint32_t Texts::Set(unsigned memory) {
  if (memory >= kMemories) memory = 0;
  char text[40];
  std::snprintf(text, sizeof text, "Memset (%s)", kMemory[memory]);
  return Cached(&sets_[memory], text, CROSSCUT_ON_DEVICE);
}

uint32_t Texts::Graph() { return Cached(&graph_, "CUDA graph", CROSSCUT_ON_DEVICE); }

uint32_t Texts::Metrics() { return Cached(&metrics_, "Hardware metrics", CROSSCUT_ON_DEVICE); }

uint32_t Texts::Synchronisation(unsigned type) {
  constexpr const char* kTypes[kWaits] = {"wait", "wait for event", "stream waits for event",
                                          "wait for stream", "wait for context"};
  if (type >= kWaits) type = 0;
  return Cached(&waits_[type], kTypes[type], CROSSCUT_ON_HOST_RUNTIME);
}

uint32_t Texts::Overhead(unsigned kind) {
  constexpr const char* kKinds[kOverheads] = {"CUPTI: unknown",
                                              "CUPTI: buffer flush",
                                              "CUPTI: instrumentation",
                                              "CUPTI: resources",
                                              "CUDA: module loading",
                                              "CUDA: lazy function loading",
                                              "CUDA: command buffer full",
                                              "CUPTI: buffer request",
                                              "CUPTI: unified memory set-up",
                                              "CUDA: compilation"};
  // CUPTI numbers its own from bit 16 up and the driver's compiler 1.
  unsigned at = kind >> 16;
  if (at >= kOverheads - 1) at = 0;
  if (kind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER) at = kOverheads - 1;
  return Cached(&overheads_[at], kKinds[at], CROSSCUT_ON_HOST_RUNTIME);
}

}  // namespace crosscut::cupti
