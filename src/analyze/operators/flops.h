// Floating-point operations of PyTorch's operators, by what they were called with.
#pragma once

#include <cstdint>
#include <string_view>

namespace crosscut::analyze {

// How many one call of operator `name` does; kMissing where no formula is known or the inputs are
// not. `dims` and `concrete` are Kineto's arguments "Input Dims" and "Concrete Inputs" as JSON. A
// multiplication and an addition count as two. The formulas, those of torch.utils.flop_counter:
//   mm, addmm, bmm, baddbmm, _scaled_mm   2 x batch x rows x inner x columns
//   convolution            2 x batch x places x weights: places of the output, of the input where
//   it
//                          is transposed; weights: all numbers in its weight
//   convolution_backward   the same for each of the gradients, of input and of weight, that is made
//   _scaled_dot_product_*  2 x batch x heads x queries x keys x (width of keys + width of values);
//                          backward: x (3 x width of keys + 2 x width of values)
// and torch.profiler's:
//   add, mul               elements of the first input
// Other than flop_counter's, they have the fused attention of the CPU (which it does not know), and
// count the weight's gradient of a convolution in groups as what it is (it counts all groups'
// inputs for each).
int64_t FlopsOf(std::string_view name, std::string_view dims, std::string_view concrete);

// Whether `name` is a convolution, or calls one and is nothing else: conv2d, which calls
// convolution. The outermost such call has the FLOPs, the others none.
bool IsConvolution(std::string_view name);

// Whether it works element by element. Others that call an operator with FLOPs have none of their
// own, so that sums count each once.
bool IsElementwise(std::string_view name);

}  // namespace crosscut::analyze
