// What happened to memory, by process and device: every allocation, free and failed allocation of a
// trace in order of time, each free matched to its allocation (src/trace/memory_marks.h).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "src/analyze/amounts.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Whose work something was: the innermost spans around it on its thread. Where the thread has no
// operation, the lead's is taken. A module is a span called "nn.Module: ...".
struct MemoryOwner {
  trace::NameId operation, op, module;
  friend bool operator==(const MemoryOwner&, const MemoryOwner&) = default;
  auto key() const { return std::tuple(operation.value, op.value, module.value); }
  friend bool operator<(const MemoryOwner& a, const MemoryOwner& b) { return a.key() < b.key(); }
};

struct MemoryChange {
  int64_t at_ns, bytes;  // bytes < 0: freed
  int64_t total;         // kMissing: not known
  int64_t address;       // 0: not known
  trace::TrackId track;
  trace::SpanIndex span;  // innermost there; kNoSpan: none
  // What is held behind it, where so much was held before; kTooMuch where no number tells.
  int64_t TotalAfter(int64_t before) const {
    return total != kMissing ? total : Together(before, bytes);
  }
};

struct MemoryBlock {
  int64_t begin_ns, end_ns;  // end: INT64_MAX where no free was seen
  int64_t bytes;
  MemoryOwner owner;
  // By index into DeviceMemory::changes, because several may be of one instant: the block is held
  // behind change `begun` and before change `ended`.
  size_t begun, ended;
};

struct MemoryFailure {
  int64_t at_ns, bytes, total, reserved;  // the last two: kMissing where not known
  trace::TrackId track;
  MemoryOwner owner;
};

struct DeviceMemory {
  trace::ProcessId process;
  std::string device;  // or allocator
  std::vector<MemoryChange> changes;
  std::vector<MemoryBlock> blocks;  // by begin; only where the trace has addresses
  std::vector<MemoryFailure> failures;

  // The bytes held before the first change, as far as totals tell; else 0.
  int64_t start_bytes() const;
  struct Peak {
    int64_t bytes, at_ns;
    size_t changes;  // so many were before
  };
  // The first time at which most was held. at_ns is kMissing where nothing changed.
  Peak peak() const;
};

// Whether spans of that name are operators: of layer framework or comm, or without a layer and not
// a module (Optimizer.step#...).
bool IsOperator(const trace::Trace& trace, trace::NameId name);

struct MemoryUse {
  explicit MemoryUse(const trace::Trace& trace);

  std::vector<DeviceMemory> devices;  // by process, then device
};

}  // namespace crosscut::analyze
