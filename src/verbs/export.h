// The verb `export`: writes an input in a format that other tools read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct Exported {
  std::string format;             // its name
  uint64_t bytes = 0;             // of the file
  bool incomplete = false;        // as Output::incomplete
  std::vector<std::string> gaps;  // sentences: what the file does not hold of the input
};

// Writes the input at `path` to `file` (OpenOutput: "-" is stdout), in the format `to` or,
// where that is "", in the one that the file's name ends with. kUnsupported where that is none.
// Leaves no new file where it fails.
Result<Exported> Export(const std::string& path, const std::string& to, const std::string& file);

std::vector<std::string> FormatNames();
// A line "  name  description" for each format, with what a file's name then ends with.
std::string ListFormats();

}  // namespace crosscut::verbs
