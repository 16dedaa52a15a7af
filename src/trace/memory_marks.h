// Instants that say how much memory was allocated, freed, or could not be had: "[memory]" and
// "[OutOfMemory]", of Crosscut, PyTorch, and the allocators of TensorFlow and XLA. Their arguments
// are Addr, Bytes (negative: freed), Total Allocated, Total Reserved, and either Device Type and
// Device Id (c10::DeviceType's numbers) or Allocator (its name). From "[memory unseen]" to their
// next instant nobody looked at the process's allocators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/trace/trace.h"

namespace crosscut::trace {

struct MemoryMark {
  std::optional<int64_t> bytes, total, reserved;  // total, reserved: behind the change
  int64_t type = 0, index = -1, address = 0;      // 0: not known
  StringId allocator;                             // none: type and index tell
};

class MemoryMarks {
 public:
  // `trace` must outlive this.
  explicit MemoryMarks(const Trace& trace);

  // Whether there are any names of such instants.
  bool any() const { return changed_.valid() || failed_.valid(); }
  bool IsChange(NameId name) const { return Text(name) == changed_ && changed_.valid(); }
  bool IsUnseen(NameId name) const { return Text(name) == unseen_ && unseen_.valid(); }
  bool IsFailure(NameId name) const { return Text(name) == failed_ && failed_.valid(); }
  MemoryMark Read(const Args& args, uint32_t instant) const;
  // "cuda:2", or the allocator's name.
  std::string DeviceText(const MemoryMark& mark) const;

 private:
  StringId Text(NameId name) const { return trace_.name(name).text; }

  const Trace& trace_;
  const StringId changed_, failed_, unseen_, allocator_;
  const StringId bytes_, total_, reserved_, type_, index_, address_;
};

}  // namespace crosscut::trace
