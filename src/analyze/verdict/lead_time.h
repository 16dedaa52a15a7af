// The time of a process's lead, or a part of it, with what is known of every piece: its line, when
// it was, in which step, in what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct StepPart {
  size_t step;  // of ProcessCauses::steps
  int64_t ns;
};
// In order of time, each step once.
using StepParts = std::vector<StepPart>;
// Adds so much of `more`; below 0: takes it away.
void AddSteps(const StepParts& more, double part, StepParts* to);

// Of a lead, at one line and moment.
struct LeadPiece {
  trace::Interval time;
  Line line;
  Blamed blamed;
  int64_t step = -1;  // of ProcessCauses::steps; -1: none
  uint32_t operation = 0;
  trace::NameId name;  // of the innermost span, if it has one
  bool waits = false;  // LeadTime::times wants it
};

// Of a lead at one line.
struct LineTime {
  Blamed all;
  StepParts steps;
  std::map<uint32_t, int64_t> operations, names;  // as in CauseSum
  void Add(const LeadPiece& piece);
  void Add(const LineTime& more, double part = 1);
  void Take(const LineTime& less) { Add(less, -1); }
  void TakeNames(const LineTime& less);
};

struct LeadTime {
  Blamed all;
  std::map<Line, LineTime> lines;
  // Of pieces that wait, disjoint and in order.
  std::vector<trace::Interval> times;

  // In order of time. Of a time in which several others work there may be a piece for each.
  void Add(const LeadPiece& piece);
  void Add(const Line& line, const LineTime& time, double part = 1);
  Told told() const;
  StepParts steps() const;
};

}  // namespace crosscut::analyze
