// Compilers written in Python whose calls, one by one, would bury the program's: torch.compile.
#pragma once

#include <string_view>

namespace crosscut::pycalls {

// How the span of a compilation reads.
inline constexpr char kCompilation[] = "torch.compile";

// Whether the function of that file and bare name is where a compilation begins: what the frame
// hook of TorchDynamo calls, and what autograd calls for a backward pass that is compiled late.
bool BeginsCompilation(std::string_view file, std::string_view function);

}  // namespace crosscut::pycalls
