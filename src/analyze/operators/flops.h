// Floating-point operations of PyTorch's operators, from their inputs.
#pragma once

#include <cstdint>
#include <string_view>

namespace crosscut::analyze {

// The floating-point operations of one call of operator `name`; kMissing where no formula is known,
// the inputs are not known or the number does not fit. `dims` and `concrete` are Kineto's arguments
// "Input Dims" and "Concrete Inputs" as JSON. A multiplication and an addition count as two. The
// formulas of torch.utils.flop_counter:
//   mm, addmm, bmm, baddbmm, _scaled_mm   2 x batch x rows x inner x columns
//   convolution            2 x batch x places x weights. places: of the output, or of the input if
//                          it is transposed; weights: all numbers in its weight
//   convolution_backward   the same for each gradient that is made: of the input, of the weight
//   _scaled_dot_product_*  2 x batch x heads x queries x keys x (width of keys + width of values);
//                          backward: x (3 x width of keys + 2 x width of values)
// and of torch.profiler:
//   add, mul               elements of the first input
// They differ from flop_counter in two ways. They know the fused attention of the CPU. And they
// count the weight's gradient of a convolution in groups as what it is, where flop_counter counts
// all groups' inputs for each group.
int64_t FlopsOf(std::string_view name, std::string_view dims, std::string_view concrete);

// Whether `name` is a convolution or only calls one, as conv2d calls convolution. The outermost
// such call has the FLOPs, the others none.
bool IsConvolution(std::string_view name);

// Whether `name` works element by element. Any other operator that calls one with FLOPs has none of
// its own, so that sums count each operation once.
bool IsElementwise(std::string_view name);

}  // namespace crosscut::analyze
