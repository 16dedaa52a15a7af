// Where an exporter writes: a file, compressed or not, or memory. Used by one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace crosscut::exporting {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Write(std::string_view bytes) = 0;
  // Puts the file in its place. Without it nothing is left behind. Call it once.
  virtual Status Close() = 0;
};

// A new file at `path`. It appears there at Close, whole or not at all.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& path);
// The same, compressed by gzip if the name ends in ".gz".
Result<std::unique_ptr<Sink>> OpenSink(const std::string& path);

// Appends to `out`, which must outlive it.
std::unique_ptr<Sink> MemorySink(std::string* out);

}  // namespace crosscut::exporting
