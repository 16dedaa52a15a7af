// What the steps of one process are spent on, by cause.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/lead_time.h"

namespace crosscut::analyze {

// part / whole; 0 where there is no whole.
inline double Share(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The element with the largest value, the first of them; the end of an empty map.
inline auto Largest(const std::map<uint32_t, int64_t>& sums) {
  return std::max_element(sums.begin(), sums.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

struct CauseSum {
  int64_t ns = 0;
  // Device: while the host did nothing else. Another rank: when all others had come. Else equal to
  // ns.
  int64_t alone_ns = 0;
  std::map<uint32_t, int64_t> operations;  // by NameCodes number
  // By NameId: of the lead's innermost span; of what devices did where that is the cause, of all
  // streams.
  std::map<uint32_t, int64_t> names;
  int64_t samples = 0;  // of the lead in it
  // Where the lead was; for what another process does for it, where that was. `names` is then of
  // that process, too.
  BlamedLines lines;
  BlamedLines hidden;  // what of `lines` is not alone
  // What of the rest of `lines` is the lead's own time there, and the steps of what is others'.
  std::map<Line, LineTime> leads;
  std::map<Line, StepParts> others;
  int64_t others_ns = 0;  // in which other processes did it while the lead waited
  // What those that it started do before it waits for them, RelativesWork::Ahead: without it the
  // waits would be shorter, too.
  std::map<Line, int64_t> ahead;

  // Takes a part of `leads` from the lines, and puts one down to lines, the lead's own or others'.
  void TakeLines(const LeadTime& lead);
  void PutDown(const LeadTime& lead, const BlamedLines& to_lines);
};

// Not beside the others, nor Crosscut's own: what places and shares are made of.
inline bool IsOfProgram(Cause cause) {
  return cause != Cause::kPreemption && cause != Cause::kRecording;
}
// What the program itself does then. Shares are of that: it has nothing else where nobody records
// it, and on a busy machine Crosscut's own work may wait for a processor.
inline int64_t ProgramNs(const CauseTimes& step) {
  return std::accumulate(step.begin(), step.end(), int64_t{0}) -
         step[static_cast<size_t>(Cause::kRecording)];
}

struct ProcessCauses {
  // The part of the window that is told apart: steps; where there are none, the time with requests;
  // where there are none either, the whole window.
  WindowPart part = WindowPart::kSteps;
  int64_t total_ns = 0;  // the sum over all causes but kPreemption, whose time is in others, too
  CauseSum preempted;    // beside that: where the lead is known to have had no processor
  std::array<CauseSum, kCauses> causes;
  BlamedLines gil;            // of the lines of kLock: another thread had the GIL
  bool knows_native = false;  // samples tell Python and native code that nothing wraps apart
  // For whom it waited in collectives, and how long; by process.
  std::map<uint32_t, int64_t> ranks;
  // By step that is observed, in order of time, then cause: nanoseconds. Empty without steps.
  std::vector<CauseTimes> steps;
  // The lines of who works, outside of every operation, by part of the window and layers: they add
  // up to the cells of the accounting.
  std::array<std::map<LayerSet, BlamedLines>, kWindowParts> unnamed;

  CauseSum& of(Cause cause) { return causes[static_cast<size_t>(cause)]; }
  // Puts a part of the lead's time with the cause `from` down to those lines of `to`.
  void Move(const LeadTime& part, Cause from, Cause to, const BlamedLines& to_lines);

  // total_ns without Crosscut's own work.
  int64_t program_ns() const {
    return total_ns - causes[static_cast<size_t>(Cause::kRecording)].ns;
  }
  // What shares of that cause are of: of waiting for a processor, with the time in which the lead
  // is known to have had none.
  int64_t whole_ns(Cause cause) const {
    return program_ns() + (cause == Cause::kPreemption ? preempted.ns : 0);
  }
};

}  // namespace crosscut::analyze
