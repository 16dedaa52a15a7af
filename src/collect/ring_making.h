// The file of a ring: made so that it appears whole, and marked as in use from its first moment.
#pragma once

#include <cstddef>

#include "src/format/ring.h"

namespace crosscut::record {

// What MakeRingFile made: two openings of one file, the caller's to close; -1 where there is none.
struct NewRingFile {
  int map = -1;   // to map it by: the mapping then bears the file's name
  int mark = -1;  // marks the file as in use (base::MarkInUse) while it is open
};

// Makes `path`, 0600, never over an existing name, `bytes` long, zero but for the header. The name
// comes last, so that who is killed before leaves nothing; where the file system knows no files
// without a name, or there is no /proc, it comes first. Sets marks_use and magic in the header.
// Returns 0 or an errno; nothing is left behind then. No descriptor is 0, 1 or 2.
int MakeRingFile(const char* path, size_t bytes, format::RingHeader* header, NewRingFile* file);

}  // namespace crosscut::record
