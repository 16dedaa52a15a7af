// A small table of sums by (operation, what was found in it, layer set, part of the window): a hash
// table with open addressing that grows as cells appear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/analyze/layer_set.h"

namespace crosscut::analyze {

// What a process's window is cut into by its steps; where it has none, by whether requests are
// handled. kWhole: it has neither, so nothing cuts it.
enum class WindowPart : uint8_t {
  kWhole,
  kStartUp,
  kSteps,
  kControl,
  kLeftOut,  // by the budget
  kBetween,
  kRequests,         // at least one is handled
  kBetweenRequests,  // none is
  kShutdown
};
inline constexpr int kWindowParts = 9;
// Of the parts that repeat, the one that verdicts speak of.
constexpr bool Repeats(WindowPart part) {
  return part == WindowPart::kSteps || part == WindowPart::kRequests;
}

struct Cell {
  uint32_t operation = 0;  // NameCodes number
  LayerSet layers = 0;
  int64_t ns = 0;
  int64_t probe_ps = 0;     // what its probes should have cost by calibration, unscaled
  int64_t switched_ns = 0;  // the part of ns that lies in first steps after a switch
  WindowPart part = WindowPart::kWhole;
  // Of control steps, or behind one. Steps that are left out have their layer, too, but probes.
  bool control = false;
  uint32_t found = 0;         // the innermost part of the operation, by NameCodes number; 0: none
  int64_t unswitched_ps = 0;  // what its probes cost that control steps have, too
};

class Cells {
 public:
  Cells() : slots_(64, kFree) {}
  void Add(uint32_t operation, LayerSet layers, int64_t ns, int64_t probe_ps) {
    Add(Cell{operation, layers, ns, probe_ps});
  }
  // Adds the sums of `more` to the cell with its operation, found, layers, part and control.
  void Add(const Cell& more) {
    Cell& cell = At(more);
    cell.ns += more.ns;
    cell.probe_ps += more.probe_ps;
    cell.switched_ns += more.switched_ns;
    cell.unswitched_ps += more.unswitched_ps;
  }
  void Clear() {
    std::fill(slots_.begin(), slots_.end(), kFree);
    cells_.clear();
  }
  // In order of first appearance.
  const std::vector<Cell>& all() const { return cells_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static bool Alike(const Cell& a, const Cell& b) {
    return a.operation == b.operation && a.layers == b.layers && a.part == b.part &&
           a.control == b.control && a.found == b.found;
  }
  // Where a cell like that stands, or the free slot where it would.
  size_t SlotOf(const Cell& like) const {
    const uint64_t key =
        (uint64_t{like.operation} << 16 | like.layers | static_cast<uint64_t>(like.part) << 60) ^
        static_cast<uint64_t>(like.found) << 32;
    const size_t mask = slots_.size() - 1;
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (slots_[i] != kFree && !Alike(cells_[slots_[i]], like)) i = (i + 1) & mask;
    return i;
  }
  Cell& At(const Cell& like) {
    uint32_t& slot = slots_[SlotOf(like)];
    if (slot != kFree) return cells_[slot];
    if (cells_.size() * 2 >= slots_.size()) {
      Grow();
      return At(like);
    }
    slot = static_cast<uint32_t>(cells_.size());
    return cells_.emplace_back(
        Cell{like.operation, like.layers, 0, 0, 0, like.part, like.control, like.found});
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, kFree);
    for (uint32_t c = 0; c < cells_.size(); ++c) slots_[SlotOf(cells_[c])] = c;
  }

  std::vector<uint32_t> slots_;  // a power of two
  std::vector<Cell> cells_;
};

}  // namespace crosscut::analyze
