// Where an exporter writes: a file, compressed or not. Used by one thread.
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

// A new file at `path`, in place of what is there (base::NewFile). It appears at Close, whole or
// not at all; with `durable`, on stable storage.
Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& path, bool durable = false);

// Where a user wants an output: "-" is stdout. A plain file of this user's appears at Close, whole
// or not at all, with the mode it had, also where links lead to it; they stay. What a new file
// would differ from (of another owner, with further names or an access list) is written where it
// is, at Close; until then it is what it was. Devices and pipes are written from here on. A reader
// of a pipe that goes away is no error. Compresses by gzip if the name ends in ".gz".
Result<std::unique_ptr<Sink>> OpenSink(const std::string& path);
// Whether OpenSink writes to this process's stdout there.
bool IsStandardOutput(const std::string& path);

}  // namespace crosscut::exporting
