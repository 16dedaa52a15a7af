// The text of a file, plain or compressed by gzip, from begin to end in bounded memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace crosscut::import {

class TextStream {
 public:
  virtual ~TextStream() = default;
  // Reads up to `to.size()` bytes and returns their number, 0 at the end. A compressed file that is
  // cut off or damaged first gives what can be read of it, then kCorrupt.
  virtual Result<size_t> Read(std::span<char> to) = 0;
};

// kIo where it cannot be opened; the message names `path`.
Result<std::unique_ptr<TextStream>> OpenText(const std::string& path);

// The begin of the text of a file whose first bytes are `head`: these bytes, or inflated.
std::string TextHead(std::string_view head);

}  // namespace crosscut::import
