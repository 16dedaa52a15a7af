// Where an exporter writes: a file, compressed on the way or not. Buffered; one thread.
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
  // All is on its way to the disk and in its place when this returns; without it nothing is left
  // behind.
  virtual Status Close() = 0;
};

// A new file at `path`, which appears there at Close, whole or not at all.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& path);
// The same, by gzip where the name ends in ".gz".
Result<std::unique_ptr<Sink>> OpenSink(const std::string& path);

// Keeps what is written in `out`, which outlives it.
std::unique_ptr<Sink> MemorySink(std::string* out);

}  // namespace crosscut::exporting
