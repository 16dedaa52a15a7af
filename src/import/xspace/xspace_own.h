// Crosscut's own XSpaces: their notes say what every other reader has to guess, so that layers,
// operations, steps and idle time come back as they were.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "src/import/xspace/xspace_planes.h"
#include "src/trace/builder.h"
#include "src/xspace/notes.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

class OwnPlanes {
 public:
  // `first`: the process that the builder has already.
  OwnPlanes(trace::Builder* builder, trace::ProcessId first) : builder_(builder), first_(first) {}

  // Puts a plane with a note into the builder. Its bytes must outlive this.
  Status Take(const xspace::Plane& plane);
  // Once, after the last plane: lines that were passed on are read as if they came from their
  // profile, part by part.
  Status Finish();
  bool empty() const { return processes_.empty(); }

 private:
  struct Parent {
    trace::ProcessId child;
    int64_t parent;
  };
  struct PassedPlane {
    std::shared_ptr<const xspace::Plane> plane;  // by the name that it had
    std::vector<xspace::Line> lines;
  };
  struct PassedPart {
    trace::ProcessId process;
    std::vector<PassedPlane> planes;
  };
  struct PassedProfile {
    std::map<int64_t, PassedPart> parts;
    std::map<int64_t, int64_t> python_lines;
    HostTracks tracks;
  };
  trace::ProcessId ProcessOf(const xspace::PlaneNote& note);
  void Pass(const xspace::Plane& plane, const xspace::PlaneNote& whose, const xspace::Line& line,
            const xspace::LineNote& note);
  Status TakePassed();
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
  uint64_t cut_ = 0;                            // spans
  std::vector<trace::TrackId> lines_;           // of the plane
  std::shared_ptr<const xspace::Plane> plane_;  // the same, where it has lines that were passed on
  std::map<int64_t, PassedProfile> passed_;
  std::map<uint32_t, DeviceNumbers> devices_;  // of planes that were passed on, by process
};

}  // namespace crosscut::import
