// A ring's first page in memory, for programs that write `request`: src/verbs, never a recorded
// process.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/format/ring.h"

namespace crosscut::format {

// Move-only; unmaps at the end. A user who may write the file may truncate it, and then the page is
// gone. The next access then reads zeros and continues: while a mapping exists, SIGBUS is handled
// here; an earlier handler keeps all other faults.
class RingMapping {
 public:
  // As RingFile::Open and ReadHeader; kLimit where too many rings are mapped.
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
