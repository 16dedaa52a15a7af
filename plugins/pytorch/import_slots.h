// Functions that PyTorch's libraries import, led to others: by the words of the loaded libraries
// that hold the functions' addresses (their import slots). Calls inside the library that has a
// function, and inside this one, stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crosscut::pytorch {

// A function by its symbol, and what is to be called instead.
struct ImportedFunction {
  std::string symbol;
  uintptr_t ours;
  uintptr_t theirs = 0;  // where it is; 0: in a library that is none of PyTorch's
};

// A function of PyTorch's, by its address.
template <class F>
ImportedFunction Imported(F* theirs, F* ours);

// Not destroyed while its functions may be called. One thread at a time.
class ImportSlots {
 public:
  explicit ImportSlots(std::vector<ImportedFunction> functions);

  // Leads the calls of PyTorch's libraries, and of those built on them, to ours or back to theirs.
  // Looks for slots in what has been loaded since. How many there are.
  size_t Lead(bool to_ours);

 private:
  struct Slot {
    uintptr_t* at;
    uintptr_t before, ours;  // what it held, and what it is to hold
    bool read_only;
  };
  struct Scan;
  void Find();
  static bool Knows(const std::vector<Slot>& slots, const uintptr_t* at);
  static int Visit(void* library, void* scan);
  static void Store(const Slot& slot, uintptr_t value);

  const std::vector<ImportedFunction> functions_;
  std::vector<Slot> slots_;
  unsigned long long loads_ = 0;  // when they were looked for
};

// The symbol as the dynamic linker knows it; "" where it knows none.
std::string SymbolAt(uintptr_t function);

template <class F>
ImportedFunction Imported(F* theirs, F* ours) {
  const auto at = reinterpret_cast<uintptr_t>(theirs);
  return {SymbolAt(at), reinterpret_cast<uintptr_t>(ours), at};
}

}  // namespace crosscut::pytorch
