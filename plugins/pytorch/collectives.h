// What torch.distributed is asked for: the process group, the ordinal and the size of each
// collective, whichever backend carries it out.
//
// Every collective is an operator of c10d. We put a kernel in front of all of them, at the dispatch
// key BackendSelect, which no backend uses: it notes what was asked for and passes the call on. The
// operator's own name does not do: PyTorch's callbacks for operators are not in place at every
// level, and a backend's scope (gloo:all_reduce) does not say which group it is of.
#pragma once

#include <cstdint>

namespace crosscut::pytorch {

// Puts the kernel in place, for as long as the process lives: dispatch tables must not change while
// other threads call. A second call changes nothing. `before_groups`: no process group was made
// yet, so that the ordinals of all of them are known. Returns 0, or CROSSCUT_EOFF where this
// PyTorch has no such operators.
int FollowCollectives(bool before_groups);

struct Collective {
  uint32_t told = 0;     // a text for InputsKey(); 0: there is nothing to tell
  int64_t ordinal = -1;  // of its group's collectives, from 0; -1: not known
};
// The collective that this thread asks for or carries out.
Collective CollectiveOfWork();
// Whether this thread is one of PyTorch's that carries out what another one asked for.
bool CarriesOut();
// As arguments of what this thread recorded last.
void TellArguments(const Collective& collective);

}  // namespace crosscut::pytorch
