// Where an exporter writes: a file, compressed or not, or memory. Used by one thread.
#pragma once

#include <cstdint>
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
  virtual uint64_t bytes() const = 0;  // written so far, compressed where it compresses
};

// A new file at `path`, in place of what is there. It appears at Close, whole or not at all.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& path);

// Where a user wants an output: "-" is stdout. A plain file of this user's appears at Close, whole
// or not at all, with the mode it had. Everything else is written where it is, from here on: a
// device, a pipe, the file behind a link that leads nowhere yet, a file with another owner or with
// further names. So a link stays a link. A reader of a pipe that goes away is no error; the caller
// ignores SIGPIPE. Compresses by gzip if the name ends in ".gz".
Result<std::unique_ptr<Sink>> OpenSink(const std::string& path);
// Whether OpenSink writes to this process's stdout there.
bool IsStandardOutput(const std::string& path);

// Appends to `out`, which must outlive it.
std::unique_ptr<Sink> MemorySink(std::string* out);

}  // namespace crosscut::exporting
