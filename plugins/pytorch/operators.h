// PyTorch's operators, autograd nodes and user scopes as spans of the threads that run them.
//
// The callbacks are global: they see every thread of the process, autograd's included. Each
// operator costs a begin word and an end word; operators that autograd knows carry a flow word
// whose id says which forward operator belongs to which backward node (FlowId()).
#pragma once

#include <ATen/record_function.h>
#include <crosscut/crosscut.h>

#include <cstdint>
#include <memory>

namespace crosscut::pytorch {

// Names the arrow from a forward operator to the backward node that it led to. `thread` is
// PyTorch's own number of the forward thread (1, 2, ...), `sequence` autograd's number on that
// thread. Several operators leave with the same id where one calls the other: the arrow starts at
// the one that began last. The top bit stays clear, as the arrows do not leave the process; the bit
// below it keeps clear of crosscut_flow_id().
inline constexpr int kFlowSequenceBits = 40;
inline constexpr uint64_t FlowId(uint64_t thread, int64_t sequence) {
  const uint64_t mask = (uint64_t{1} << kFlowSequenceBits) - 1;
  return uint64_t{1} << 62 | thread << kFlowSequenceBits | (static_cast<uint64_t>(sequence) & mask);
}

// The pair of callbacks. Begin never allocates once a name is known, nor does BeginWithInputs,
// which also tells what the operator was called with (inputs.h); all may run on any thread, also
// after the callbacks were removed.
std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& function);
std::unique_ptr<at::ObserverContext> BeginWithInputs(const at::RecordFunction& function);
void End(const at::RecordFunction& function, at::ObserverContext* context);

// The same for user scopes: `record_function`, and the collectives of torch.distributed.
std::unique_ptr<at::ObserverContext> BeginScope(const at::RecordFunction& function);
void EndScope(const at::RecordFunction& function, at::ObserverContext* context);

// Whether the program has scopes besides those that PyTorch opens in each step itself. A scope
// costs two microseconds more while somebody listens, so nobody does at the levels boundary and
// marks until the program has one of its own. Who hears of one before that (scopes.h) says so.
bool HasScopes();
// A scope of this name begins; true where it is the first of the program's own.
bool NoticeScope(const char* name);
// The same from outside of the callbacks, before it begins: the first of the program's own is
// recorded, and those behind it. Any thread.
void ScopeBegins(const char* name);

// Callbacks of Begin, or BeginWithInputs, and End: operators, autograd's nodes, functions of
// TorchScript, and what they tell of their inputs.
enum class Inputs { kNone, kShapes, kScalars /* with shapes */ };
at::RecordFunctionCallback Callbacks(Inputs inputs);
at::RecordFunctionCallback ScopeCallbacks();

// Whether Begin and BeginScope record. Guards that torch prepared before the callbacks' removal
// still call them.
void SetRecording(bool on);
void SetRecordingScopes(bool on);
// Of which inputs the callbacks are that are in place.
void SetRecordingInputs(Inputs inputs);
Inputs RecordingInputs();
// Whether anything but control is recorded; whether operators are.
bool IsRecording();
bool IsRecordingOperators();

// Must have been called before the first Begin; learns from torch how to tell names by address and
// watches for operators that go away. A second call changes nothing.
void PrepareNames();

}  // namespace crosscut::pytorch
