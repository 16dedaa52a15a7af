// Keeps builtin functions what they were as dictionary keys.
//
// CPython hashes and compares a builtin function by its m_self and ml_meth: swapping ml_meth would
// move torch.add in every dictionary that it is a key of. So the builtin function types get a hash
// and a comparison that see originals in the place of our thunks, while thunks are in.
#pragma once

namespace crosscut::pycalls {

void GuardIdentity();    // idempotent
void UnguardIdentity();  // only once no thunk is in any table

}  // namespace crosscut::pycalls
