// The verb `export`: an input in a format that other tools read.
#pragma once

#include <string>

#include "src/base/status.h"

namespace crosscut::verbs {

struct Exported {
  uint64_t bytes = 0;       // of the file
  bool incomplete = false;  // as Output::incomplete
};

// kUnsupported where there is no format `to`. Nothing is left at `file` where it fails.
Result<Exported> Export(const std::string& path, const std::string& to, const std::string& file);

// "name  description" a line.
std::string ListFormats();

}  // namespace crosscut::verbs
