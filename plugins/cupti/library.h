// Finds a libcupti and fills the table from it.
#pragma once

#include <cstddef>

#include "api.h"

namespace crosscut::cupti {

enum class Search {
  kLoadedOnly,  // what the program itself has loaded
  kEverywhere   // that first, then the program's environment and toolkits
};

// Fills *api and returns true, or says in `why` what is missing. `library` (may be null) is the
// only place that is looked at where it is given. A library that was loaded stays.
bool LoadCupti(const char* library, Search search, Api* api, char* why, size_t bytes);

}  // namespace crosscut::cupti
