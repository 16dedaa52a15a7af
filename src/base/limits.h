// The limits that a process runs under, and whether they leave room for what a recording adds:
// threads, files, mappings.
#pragma once

#include <cstddef>

namespace crosscut::base {

// False where a limit in force (RLIMIT_NOFILE, _AS, _DATA, _NPROC) is so low that the program could
// miss what we take: `words`, which may be null, then says which, as in "open files (ulimit -n)".
// The number of processes counts those that the user has now.
bool LimitsLeaveRoom(char* words, size_t room);

}  // namespace crosscut::base
