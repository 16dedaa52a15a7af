// Floating-point operations of PyTorch's operators, by what they were called with.
#pragma once

#include <cstdint>
#include <string_view>

namespace crosscut::analyze {

// How many one call of operator `name` does; kMissing where no formula is known or the inputs are
// not. `dims` and `concrete` are Kineto's arguments "Input Dims" and "Concrete Inputs" as JSON. A
// multiplication and an addition count as two. Formulas (those of the first three lines are
// torch.profiler's, torch/csrc/profiler/util.cpp):
//   mm, addmm, bmm, baddbmm   2 x batch x rows x inner x columns
//   conv2d                    2 x batch x output places x kernel places x channels in x channels
//   out
//                             / groups; conv1d, conv3d the same
//   add, mul                  elements of the first input
//   convolution_backward      twice the convolution, for the gradients of input and weight
//   _scaled_dot_product_*     4 x batch x heads x queries x keys x width: two products of matrices
// Operators that call one of these count nothing, so that sums count each once.
int64_t FlopsOf(std::string_view name, std::string_view dims, std::string_view concrete);

}  // namespace crosscut::analyze
