// The names of a program's nn.Modules, by their addresses.
//
// Everything here runs under the GIL.
#pragma once

#include <cstdint>
#include <memory>

namespace crosscut::modules {

// Asks the adapter for the name of a module that has none yet; may enter others, too. 0: none.
using Namer = uint32_t (*)(void* module);

class Names {
 public:
  void SetNamer(Namer namer) { namer_ = namer; }
  // The name id of the module at `module`; 0 where it has none.
  uint32_t Of(void* module) {
    for (size_t at = Home(module); size_ != 0; at = (at + 1) & (size_ - 1)) {
      if (slots_[at].module == module) return slots_[at].name;
      if (slots_[at].module == nullptr) break;
    }
    return Ask(module);
  }
  void Enter(void* module, uint32_t name);
  // The module is gone: another object may come to lie at its address.
  void Forget(void* module);

 private:
  struct Slot {
    void* module;
    uint32_t name;
  };
  size_t Home(const void* module) const {
    return reinterpret_cast<uintptr_t>(module) * 0x9e3779b97f4a7c15u >> 40 & (size_ - 1);
  }
  uint32_t Ask(void* module);
  bool Grow();

  Namer namer_ = nullptr;
  Slot* slots_ = nullptr;  // never freed at exit: modules are called as long as there are threads
  size_t size_ = 0, used_ = 0;
};

}  // namespace crosscut::modules
