// A ring's first page in memory, for those who write `request`: src/verbs, never a recorded
// process.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/format/ring.h"

namespace crosscut::format {

// Move-only; unmaps at the end. Who may write the file may cut it, and the page is then gone: what
// touches it next reads zeros and goes on (SIGBUS is handled here, while a mapping lives; a handler
// that was there before keeps all other faults).
class RingMapping {
 public:
  // As RingFile::Open and ReadHeader. `trust`: whose ring is taken.
  static Result<RingMapping> Open(const std::string& path, const RingTrust& trust = {});
  RingMapping(RingMapping&& other) noexcept;
  RingMapping& operator=(RingMapping&&) = delete;
  ~RingMapping();

  RingHeader* header() const { return static_cast<RingHeader*>(page_); }
  const RingFile& file() const { return file_; }

 private:
  RingMapping(RingFile file, void* page) : file_(std::move(file)), page_(page) {}
  RingFile file_;
  void* page_;  // kRingPageBytes
};

}  // namespace crosscut::format
