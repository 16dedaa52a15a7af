// How work was laid out on its device, in whichever words a trace says so.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/trace/trace.h"

namespace crosscut::exporting {

struct KernelShape {
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t registers = -1, static_bytes = -1, dynamic_bytes = -1;  // -1: not known
  bool known = false;      // whether grid and block are known
  bool in_arrays = false;  // the trace has them as Kineto writes them: "grid": [1, 2, 3]
};

KernelShape KernelShapeOf(const trace::Trace& trace, trace::Args::Range args);

// The layout as XProf reads it: "regs:32 grid:1,2,3 block:128,1,1"; "" where it is not known.
std::string KernelDetails(const KernelShape& shape);

}  // namespace crosscut::exporting
