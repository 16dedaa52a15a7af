// A small table of sums by (operation, layer set): a hash table with open addressing that grows as
// cells appear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/analyze/layer_set.h"

namespace crosscut::analyze {

struct Cell {
  uint32_t operation = 0;  // NameCodes number
  LayerSet layers = 0;
  int64_t ns = 0;
  int64_t probe_ps = 0;     // what its probes should have cost by calibration, unscaled
  int64_t switched_ns = 0;  // the part of ns that lies in first steps after a switch
};

class Cells {
 public:
  Cells() : slots_(64, kFree) {}
  void Add(uint32_t operation, LayerSet layers, int64_t ns, int64_t probe_ps,
           int64_t switched_ns = 0) {
    Cell& cell = At(operation, layers);
    cell.ns += ns;
    cell.probe_ps += probe_ps;
    cell.switched_ns += switched_ns;
  }
  // In order of first appearance.
  const std::vector<Cell>& all() const { return cells_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static size_t Hash(uint32_t operation, LayerSet layers) {
    return (uint64_t{operation} << 16 | layers) * 0x9e3779b97f4a7c15u >> 20;
  }
  Cell& At(uint32_t operation, LayerSet layers) {
    for (size_t i = Hash(operation, layers);; ++i) {
      uint32_t& slot = slots_[i & (slots_.size() - 1)];
      if (slot == kFree) {
        if (cells_.size() * 2 >= slots_.size()) {
          Grow();
          return At(operation, layers);
        }
        slot = static_cast<uint32_t>(cells_.size());
        cells_.push_back({operation, layers, 0, 0});
        return cells_.back();
      }
      Cell& cell = cells_[slot];
      if (cell.operation == operation && cell.layers == layers) return cell;
    }
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, kFree);
    for (uint32_t c = 0; c < cells_.size(); ++c) {
      size_t i = Hash(cells_[c].operation, cells_[c].layers);
      while (slots_[i & (slots_.size() - 1)] != kFree) ++i;
      slots_[i & (slots_.size() - 1)] = c;
    }
  }

  std::vector<uint32_t> slots_;  // a power of two
  std::vector<Cell> cells_;
};

}  // namespace crosscut::analyze
