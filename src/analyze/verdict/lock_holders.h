// Where the lead waits for a lock, some thread has it. Of one that waits for nobody, beside others
// that all wait for locks or threads, it is known: the lead waits for what that does.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/lead_time.h"
#include "src/analyze/verdict/thread_samples.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

class LockHolders {
 public:
  // Of the lead of that process. `context` must outlive it.
  LockHolders(const Context& context, uint32_t process) : context_(context), process_(process) {}
  // A part of the lead's waits for locks, and the sample that tells where it is.
  void Add(const ThreadSample& lead, const LeadPiece& piece);

  // Of those parts the ones whose holder is known, and where that was.
  const LeadTime& lead() const { return lead_; }
  const BlamedLines& lines() const { return lines_; }

 private:
  struct Other {
    int64_t at_ns, covers_ns;
    uint32_t track;
    Line line;
    bool waits;  // for a lock or a thread
  };
  void LookAtOthers();
  // At that sample; null: it is not known.
  const Line* HolderAt(const ThreadSample& lead) const;

  const Context& context_;
  const uint32_t process_;
  bool looked_ = false;
  std::vector<Other> others_;           // in order of time
  std::vector<int64_t> begins_, ends_;  // likewise: of their threads' lives, as samples know these
  const ThreadSample* last_ = nullptr;  // of Add(), and its holder
  const Line* holder_ = nullptr;
  LeadTime lead_;
  BlamedLines lines_;
};

}  // namespace crosscut::analyze
