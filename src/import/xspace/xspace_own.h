// Crosscut's own XSpaces: their notes say what every other reader has to guess, so that layers,
// operations, steps and idle time come back as they were.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "src/trace/builder.h"
#include "src/xspace/notes.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

class OwnPlanes {
 public:
  // `first`: the process that the builder has already.
  OwnPlanes(trace::Builder* builder, trace::ProcessId first) : builder_(builder), first_(first) {}

  // Puts a plane with a note into the builder.
  Status Take(const xspace::Plane& plane);
  // Once, after the last plane.
  void Finish();
  bool empty() const { return processes_.empty(); }

 private:
  struct Parent {
    trace::ProcessId child;
    int64_t parent;
  };
  trace::ProcessId ProcessOf(const xspace::PlaneNote& note);
  Status TakeLine(const xspace::Plane& plane, const xspace::PlaneNote& whose,
                  const xspace::Line& line);
  Status TakeSpans(const xspace::Plane& plane, const xspace::Line& line,
                   trace::TrackBuilder* track);
  Status TakeMemory(const xspace::Plane& plane, const xspace::Event& event,
                    trace::TrackBuilder* track);
  Status TakeSteps(const xspace::Plane& plane, const xspace::Line& line, trace::ProcessId process);
  Status TakeStats(const xspace::Plane& plane, const xspace::Event& event, bool layered,
                   trace::TrackBuilder* track);

  trace::Builder* builder_;
  trace::ProcessId first_;
  std::map<int64_t, trace::ProcessId> processes_;  // by their place in the trace
  std::vector<Parent> parents_;
  uint64_t cut_ = 0;                   // spans
  std::vector<trace::TrackId> lines_;  // of the plane
};

}  // namespace crosscut::import
