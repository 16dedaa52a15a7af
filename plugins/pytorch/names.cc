#include "names.h"

#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

namespace crosscut::pytorch {
namespace {

ForkSafeMutex insertion;  // of all caches, whose memory is zero until it is used

constexpr std::string_view kProfilerStep = "ProfilerStep#";

// Scopes that PyTorch opens by itself. They are no operations of the user.
constexpr std::string_view kScopesOfTorch[] = {
    "Optimizer.",
    "ProfilerStep#",
    "Torch-Compiled Region",
    "TorchDynamo ",
    "CompiledFunction",
    "AOTDispatcher ",
    "Pregraph bytecode",
    "## ",
    "DistributedDataParallel.",
    "FullyShardedDataParallel.",
    "FSDP::",
    "Iterable",
    "Inductor",
};
constexpr std::string_view kLoading = "enumerate(DataLoader)#";
constexpr std::string_view kCommunication[] = {
    "nccl:", "gloo:", "ucc:", "mpi:", "c10d::", "_c10d_functional::", "record_param_comms",
};

template <size_t n>
bool StartsWithAny(std::string_view name, const std::string_view (&prefixes)[n]) {
  for (std::string_view prefix : prefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

TextCache scope_names(Scope::kUser);
TextCache async_names(Scope::kAsync);

crosscut_layer LayerOfOperator(std::string_view name) {
  return StartsWithAny(name, kCommunication) ? CROSSCUT_COMM : CROSSCUT_FRAMEWORK;
}

// The recorder knows one operator of several by "NAME.OVERLOAD".
uint32_t InternOverload(const char* name, const char* overload) {
  char both[256];
  const int bytes = snprintf(both, sizeof both, "%s.%s", name, overload);
  const bool fits = bytes > 0 && static_cast<size_t>(bytes) < sizeof both;
  if (*overload == '\0' || strchr(name, '.') != nullptr || !fits) {
    return Intern(name, strlen(name), Scope::kFunction);
  }
  return crosscut_intern(both, static_cast<size_t>(bytes), CROSSCUT_SPAN, LayerOfOperator(name),
                         CROSSCUT_OVERLOADED, OpProbe());
}

}  // namespace

AddressCache operator_names;
TextCache node_names(Scope::kFunction);

uint32_t OpProbe() {
  static const uint32_t probe = crosscut_intern("op", 2, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

uint32_t ScopeProbe() {
  static const uint32_t probe =
      crosscut_intern("scope", 5, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

uint32_t Intern(const char* name, size_t bytes, Scope scope) {
  const std::string_view text(name, bytes);
  const uint32_t probe = scope == Scope::kFunction ? OpProbe() : ScopeProbe();
  const unsigned async = scope == Scope::kAsync ? CROSSCUT_ASYNC : 0;
  auto span = [&](crosscut_layer layer, unsigned flags) {
    return crosscut_intern(name, bytes, CROSSCUT_SPAN, layer, flags | async, probe);
  };
  const crosscut_layer layer = LayerOfOperator(text);
  if (scope == Scope::kFunction) return span(layer, 0);
  // Scopes begin in the `__enter__` of one function and end in the `__exit__` of another.
  if (layer == CROSSCUT_COMM) return span(layer, CROSSCUT_CROSSES);
  if (text.substr(0, kLoading.size()) == kLoading) return span(CROSSCUT_DATA, CROSSCUT_CROSSES);
  if (StartsWithAny(text, kScopesOfTorch)) {
    return span(CROSSCUT_LAYER_NONE, CROSSCUT_NO_LAYER | CROSSCUT_CROSSES);
  }
  return crosscut_intern(name, bytes, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE,
                         CROSSCUT_NO_LAYER | async, probe);
}

uint32_t AddressCache::Insert(const char* name, const char* overload) {
  const uint32_t id = InternOverload(name, overload);
  std::lock_guard<ForkSafeMutex> lock(insertion);
  if (id == 0 || used_ >= kMostUsed) return id;
  for (size_t at = Home(name);; at = (at + 1) & kMask) {
    const char* key = slots_[at].name.load(std::memory_order_relaxed);
    if (key == name) return slots_[at].id;
    if (key != nullptr) continue;
    slots_[at].id = id;
    slots_[at].name.store(name, std::memory_order_release);
    ++used_;
    return id;
  }
}

void AddressCache::Forget(const char* name) {
  std::lock_guard<ForkSafeMutex> lock(insertion);
  for (size_t at = Home(name);; at = (at + 1) & kMask) {
    const char* key = slots_[at].name.load(std::memory_order_relaxed);
    if (key == nullptr) return;
    if (key != name) continue;
    slots_[at].name.store(Dead(), std::memory_order_release);
    return;
  }
}

uint64_t TextCache::Hash(const char* text, size_t bytes) {
  uint64_t hash = bytes * 0x9e3779b97f4a7c15u;
  auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  uint64_t word;
  for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
    memcpy(&word, text, sizeof word);
    mix(word);
  }
  word = 0;
  for (size_t i = 0; i < bytes; ++i) word = word << 8 | static_cast<unsigned char>(text[i]);
  mix(word);
  return hash;
}

uint32_t TextCache::Find(const char* name) {
  const size_t bytes = strlen(name);
  const uint64_t hash = Hash(name, bytes);
  for (size_t at = hash & kMask;; at = (at + 1) & kMask) {
    const Entry* entry = slots_[at].load(std::memory_order_acquire);
    if (entry == nullptr) return Insert(name, bytes, hash);
    if (entry->hash == hash && entry->bytes == bytes && memcmp(entry->text, name, bytes) == 0) {
      return entry->id;
    }
  }
}

uint32_t TextCache::Insert(const char* name, size_t bytes, uint64_t hash) {
  const uint32_t id = Intern(name, bytes, scope_);
  std::lock_guard<ForkSafeMutex> lock(insertion);
  if (id == 0 || used_ >= kMostUsed) return id;
  void* memory = malloc(sizeof(Entry) + bytes);
  if (memory == nullptr) return id;
  Entry* entry = new (memory) Entry{hash, bytes, id};
  memcpy(entry->text, name, bytes);
  size_t at = hash & kMask;
  while (slots_[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & kMask;
  slots_[at].store(entry, std::memory_order_release);
  ++used_;
  return id;
}

uint32_t FindAsyncName(const char* name) { return async_names.Find(name); }

UserName FindUserName(const char* name) {
  if (strncmp(name, kProfilerStep.data(), kProfilerStep.size()) == 0) {
    return {scope_names.Find(kProfilerStep.data()), atoll(name + kProfilerStep.size())};
  }
  return {scope_names.Find(name), -1};
}

}  // namespace crosscut::pytorch
