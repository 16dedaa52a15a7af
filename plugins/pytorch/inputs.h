// What an operator was called with: shapes, types and strides of its tensors, and where that is
// asked for the values of its scalars.
//
// A call is told by one argument word: the id of an interned JSON object with the members that
// Kineto's traces have ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"). Calls that
// are alike share it, so the text is made once and a call costs a hash over its inputs.
//
// Threads: everything here may be called from any thread. A look-up that hits takes no lock and
// allocates nothing. Nothing is ever freed.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace crosscut::pytorch {

// The key of the argument: its value's members are arguments of their own (docs/format.md).
uint32_t InputsKey();

// The id of the text that tells `inputs` of the operator `name`; 0 where there is nothing to tell
// or no room for another text: 8,192 different ones with the values of scalars, then 24,576 without
// them, 8 MiB in all. Without `scalars` it has no values but those of convolutions, which are no
// data: stride, padding, dilation, groups, whether transposed.
uint32_t FindInputs(const char* name, c10::ArrayRef<const c10::IValue> inputs, bool scalars);

// The same, with scalars, and with what the call got by name, as a member "kwinputs". Allocates.
using Named = std::unordered_map<std::string, c10::IValue>;
uint32_t FindInputs(c10::ArrayRef<const c10::IValue> inputs, const Named& named);

// What torch.distributed tells of the collective that this thread is about to start, as such a
// text; 0 where it tells nothing. Allocates.
uint32_t FindCollective();

// A collective in Kineto's words. What is null or below 0 is not told.
struct CollectiveCall {
  std::string name;  // "allreduce"
  at::ScalarType type = at::ScalarType::Undefined;
  int64_t in_elements = 0, out_elements = 0;
  const std::vector<int64_t>*in_split = nullptr, *out_split = nullptr, *ranks = nullptr;
  int64_t group_size = 0, rank = 0;  // the rank in the group
  std::string group, group_description;
  int64_t peer = -1;  // the rank in the group that is sent to or received from
};
// As such a text. Allocates.
uint32_t CollectiveText(const CollectiveCall& call);

}  // namespace crosscut::pytorch
