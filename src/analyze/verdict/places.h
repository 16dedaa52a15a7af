// The places of a program by the time of its steps that nothing else hides, all causes together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {

// A line of the program (a worker's or a rank's where that is waited for), or the lines of one loop
// in Python: they alternate so fast that one without the other is nothing to remove.
struct Place {
  Line line;                 // of its lines the one with most time
  std::vector<Line> others;  // of the same loop, and functions that stand in one of its lines
  int64_t lines = 1;         // how many: those in one line of a file count once
  Blamed all;                // that nothing hides
  CauseTimes causes = {};    // it, by cause
  int64_t ahead_ns = 0;      // of `whole`: what others do before they are waited for
  // Of the process's steps, or of its window, without waits for a processor: its own, and with what
  // it calls at other lines of the program and does ahead, which goes where it goes. `gain` is that
  // of all the time: waits for a processor go with the lead's work, in proportion. 95 % bounds: how
  // well samples tell it from all else, and how blocks of steps differ; 0 and 1 where no sample
  // tells.
  struct Part {
    double share = 0, low = 0, high = 1;
  };
  Part own, whole, gain;
  // By step, as in ProcessCauses::steps; empty without steps and for what has 1 % of them.
  std::vector<int64_t> steps;

  // The cause of most of it.
  Cause cause() const;
  // Calls visit(line) for each.
  template <class Visit>
  void ForEachLine(Visit visit) const {
    visit(line);
    for (const Line& other : others) visit(other);
  }
};

// What the lead did at a place, by operation and name; where others work, or devices, so much of
// what they did for the cause as was there for certain.
CauseSum SumAt(const ProcessCauses& causes, const Place& place, Cause cause);
// For how long of its locks another thread held the GIL.
int64_t GilAt(const ProcessCauses& causes, const Place& place);

// By process: those of which a line of the program is known, the longest first. Computed once.
struct Places {
  explicit Places(const Context& context);
  std::vector<std::vector<Place>> processes;
};

// process, place, what ("line", "import", "exit"), lines (how many: more than one are a loop),
// cause, ns, place_ns (all causes of the place), low_ns, high_ns (95 % bounds of place_ns),
// samples, gain_ns (with what it calls at other lines): what of the steps nothing else hides, by
// place and cause. The longest place first.
Table PlacesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
