// Hears of a program's first scope before anything listens to PyTorch's, which costs each of them
// time: where record_function asks PyTorch's dispatcher, and where C++ makes a guard of its own.
#pragma once

namespace crosscut::pytorch {

// From now on ScopeBegins() is told of scopes before they begin, until there was one. False: this
// PyTorch begins them in another way. Throws what PyTorch throws.
bool HearScopes();

// Libraries have been loaded since.
void HearScopesOfNewLibraries();

}  // namespace crosscut::pytorch
