// The verb `export`: writes an input in a format that other tools read.
#pragma once

#include <string>

#include "src/base/status.h"

namespace crosscut::verbs {

struct Exported {
  uint64_t bytes = 0;       // of the file
  bool incomplete = false;  // as Output::incomplete
};

// Writes the input at `path` to `file`. kUnsupported where there is no format `to`. Leaves nothing
// at `file` where it fails.
Result<Exported> Export(const std::string& path, const std::string& to, const std::string& file);

// A line "  name  description" for each format.
std::string ListFormats();

}  // namespace crosscut::verbs
