// The limits under which a process runs, and whether they leave room for what a recording adds:
// threads, files, mappings.
#pragma once

#include <cstddef>

namespace crosscut::base {

// False where a limit in force (RLIMIT_NOFILE, _AS, _DATA, _NPROC) is so low that the program could
// lack what Crosscut takes. `words`, which may be null and has `room` bytes, then names the limit,
// as in "open files (ulimit -n)". For the limit of processes, the user's present ones count.
bool LimitsLeaveRoom(char* words, size_t room);

}  // namespace crosscut::base
