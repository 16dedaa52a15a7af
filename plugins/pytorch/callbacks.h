// Python that PyTorch's C++ calls (hooks of gradients and tensors, autograd.Function, custom
// operators, __torch_dispatch__, __torch_function__) is a span "callback" of layer python, so that
// it is no part of the operator or of the run of the engine that it is called in. The libraries of
// PyTorch call Python through the interpreter's own functions, and these calls are led through here
// (import_slots.h): nothing is added to any other call.
#pragma once

namespace crosscut::pytorch {

// Whether calls are led through here. Under the GIL. 0: nothing of PyTorch's imports such a
// function. Looks again for what was loaded since the last time.
int LeadCallbacks(bool to_ours);
// Libraries have been loaded since: as they are, so are theirs. Under the GIL.
void LeadCallbacksOfNewLibraries();

// Whether they are recorded, from now on. Any thread.
void RecordCallbacks(bool on);

}  // namespace crosscut::pytorch
