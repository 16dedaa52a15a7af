// From what PyTorch calls an operator to the id that a word in the ring carries.
//
// Two caches stand before crosscut_intern(), because RecordFunction hands out two kinds of name.
// The name of a dispatcher operator belongs to its schema and keeps its address until the operator
// is deregistered: cached by address. The names of autograd nodes and of user scopes lie in
// buffers that are used again for other names: cached by content, never by address.
//
// Threads: everything here may be called from any thread. A look-up that hits takes no lock and
// allocates nothing. Nothing is ever freed, since callbacks can run after their removal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace crosscut::pytorch {

enum class Scope { kFunction, kUser, kAsync };

// What a user scope stands for.
struct UserName {
  uint32_t id = 0;
  int64_t step = -1;  // N of "ProfilerStep#N", which is recorded as one name with an argument
};

// Names whose address identifies them while nobody calls Forget().
class AddressCache {
 public:
  // The id of the operator whose name stands at `name`; 0 where it was never inserted: no text that
  // comes and goes can stand at the address of one that stays.
  uint32_t Find(const char* name) const {
    for (size_t at = Home(name);; at = (at + 1) & kMask) {
      const char* key = slots_[at].name.load(std::memory_order_acquire);
      if (key == name) return slots_[at].id;
      if (key == nullptr) return 0;
    }
  }
  // The same for a name that stays, and its overload's name ("": none); 0 (no name) where names
  // have run out.
  uint32_t Insert(const char* name, const char* overload);

  // The text at `name` is about to be freed: the address may come back as another name.
  void Forget(const char* name);

 private:
  static constexpr size_t kSlots = 1 << 14;  // PyTorch registers about 6,000 operators
  static constexpr size_t kMask = kSlots - 1;
  static constexpr size_t kMostUsed = kSlots / 2;

  struct Slot {
    std::atomic<const char*> name;  // null: free; Dead(): forgotten, passed over by look-ups
    uint32_t id;                    // valid once `name` is set
  };
  static const char* Dead() { return reinterpret_cast<const char*>(uintptr_t{1}); }
  static size_t Home(const char* name) {
    return reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 50 & kMask;
  }

  Slot slots_[kSlots] = {};
  size_t used_ = 0;
};

// Names that are equal when their texts are.
class TextCache {
 public:
  constexpr explicit TextCache(Scope scope) : scope_(scope) {}

  // The id of `name`, which may be changed or freed after the call; 0 where names have run out.
  uint32_t Find(const char* name);

 private:
  static constexpr size_t kSlots = 1 << 12;
  static constexpr size_t kMask = kSlots - 1;
  static constexpr size_t kMostUsed = kSlots / 2;

  struct Entry {
    uint64_t hash;
    size_t bytes;
    uint32_t id;
    char text[];
  };
  static uint64_t Hash(const char* text, size_t bytes);
  uint32_t Insert(const char* name, size_t bytes, uint64_t hash);

  const Scope scope_;
  std::atomic<const Entry*> slots_[kSlots] = {};
  size_t used_ = 0;
};

// The name ids of the probe kinds that record operators, and user scopes, for the accounting of
// overhead: scopes are seen at levels at which operators are not.
uint32_t OpProbe();
uint32_t ScopeProbe();

// The id of operator `name`, `bytes` long, or of user scope `name`. Takes the recorder's lock.
uint32_t Intern(const char* name, size_t bytes, Scope scope);

// The id of an asynchronous user scope.
uint32_t FindAsyncName(const char* name);

// As TextCache::Find, but with the number cut off the names of torch.profiler's steps.
UserName FindUserName(const char* name);

// The caches of this process.
extern AddressCache operator_names;
extern TextCache node_names;

}  // namespace crosscut::pytorch
