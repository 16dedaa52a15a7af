// Samples tell which thread holds the GIL. Where the lead waits by a lock (futex) in a call that
// itself waits for no lock, and another thread holds the GIL at that moment, it waits for that: the
// call is over, or Python runs. Now and then it wakes to ask for the GIL, and may wait for a
// processor then: in a call that only waits, it needs one for nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/lead_time.h"
#include "src/analyze/verdict/thread_lines.h"

namespace crosscut::analyze {

class GilWaits {
 public:
  // A sample of a thread that is not the lead, all of one behind the other: it may have held the
  // GIL then, and is known to where it says so.
  void Take(uint32_t thread, const ThreadSample& sample);
  // All holders are known.
  void Sort();
  // Whether another thread may have held it at that sample of the lead: a lead that runs then,
  // without it, may run to ask for it.
  bool OthersAt(const ThreadSample& lead) const { return NearestOf(may_hold_, lead) != nullptr; }
  // The line of the thread that held it then; null: none is known to.
  const Line* HolderAt(const ThreadSample& lead) const {
    const Holder* const holder = NearestOf(holders_, lead);
    return holder == nullptr ? nullptr : &holder->line;
  }

  // A part of the lead's time, by that cause and sample. False where it is not known to wait for
  // the GIL.
  bool Add(Cause cause, Doing doing, const ThreadSample& lead, const LeadPiece& piece);

  struct Waits {
    LeadTime lead;
    BlamedLines holders;
  };
  const Waits& of(Cause cause) const { return waits_[static_cast<size_t>(cause)]; }
  // A sample of the lead that is locked, perhaps by the GIL.
  void Look(const ThreadSample& lead);
  // Whether another thread had the GIL in half of the time for which Look was told samples, by
  // those of one look with the lead's; `otherwise` where these are too few to say.
  bool OthersHadIt(bool otherwise) const;

 private:
  struct Holder {
    int64_t at_ns, covers_ns;
    Line line;
  };
  // The nearest of these of one look with the lead's; null: there is none. Requires: they are
  // sorted.
  static const Holder* NearestOf(const std::vector<Holder>& seen, const ThreadSample& lead);

  std::vector<Holder> holders_, may_hold_, known_;
  uint32_t last_thread_ = UINT32_MAX;
  std::vector<int64_t> first_ns_, last_ns_;  // of the threads with samples in known_
  // Samples of a locked lead with such of others; these others; how many lived; and those that had
  // the GIL.
  int64_t looks_ = 0, seen_ = 0, lived_ = 0, held_ = 0;
  std::array<Waits, kCauses> waits_;
};

}  // namespace crosscut::analyze
