// The planes of an XSpace as tracks of one process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/import/file_steps.h"
#include "src/import/xla_layers.h"
#include "src/trace/builder.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

// The numbers of a process's devices. A plane says its device's at its end ("/device:GPU:3"), or
// not at all ("/device:CUSTOM:CHIP"); planes of two kinds may say the same.
class DeviceNumbers {
 public:
  // That of a device without a plane.
  void Take(int64_t number) { kinds_[number] = ""; }
  int64_t Of(std::string_view plane);
  // What Of() says of that plane from now on.
  void Set(std::string_view plane, int64_t number);

 private:
  std::map<std::string, int64_t, std::less<>> numbers_;  // by plane
  std::map<int64_t, std::string> kinds_;                 // by number: the plane's name before it
};

// By plane, line and lane: lines of two planes may have the same id.
using HostTracks = std::map<std::tuple<std::string, int64_t, size_t>, trace::TrackBuilder*>;

// Where the events of a space are placed in the trace.
struct Placement {
  int64_t offset_ns = 0;    // trace time = the space's time - this
  int64_t counts_from = 0;  // a line with a time below half of this counts from it; 0: none
  bool steps = true;        // its step events become steps of the process
  DeviceNumbers* devices = nullptr;         // of the process
  uint64_t flow_space = uint64_t{1} << 62;  // bits set in the ids of its arrows
  // Lines of Python's threads, and the threads' ids. The process has already recorded there where
  // Python calls the framework, so the framework's own events get no layer there.
  std::map<int64_t, int64_t> python_lines = {};
  // Of the parts of one profile: the next part continues them. Null: none.
  HostTracks* tracks = nullptr;
};

// The stat as an argument of what the track began last; bytes are none.
void PutArg(trace::Builder* builder, const xspace::Plane& plane, const xspace::Stat& stat,
            trace::TrackBuilder* track);

class XSpacePlanes {
 public:
  // `builder` must outlive this.
  XSpacePlanes(trace::Builder* builder, trace::ProcessId process, const Placement& placement)
      : builder_(builder), process_(process), placement_(placement) {}

  // Puts the planes into the builder. After an error, the planes before the first unreadable one
  // are in the builder. Call it once.
  Status Take(std::string_view bytes);
  // The same for planes of which other lines are others': Finish() comes once, behind the last.
  Status TakeLines(const xspace::Plane& plane, const std::vector<xspace::Line>& lines);
  void Finish();

  // What the space states of its own time and process, as in the file; 0 where it states nothing.
  int64_t start_ns() const { return start_ns_; }
  int64_t stop_ns() const { return stop_ns_; }
  int64_t pid() const { return pid_; }
  // First begin and last end of its events, in trace time; begin > end where there are none.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }
  // Words about what could not be placed in time, or only in part; "" where all could.
  std::string LeftOut() const;

 private:
  // An event of a line, cut out of the bytes.
  struct Timed {
    int64_t begin_ns, end_ns;
    xspace::Event event;
    bool allocation = false;  // or a free: an instant
  };
  struct Lane {
    trace::TrackBuilder* track;
    bool python;                // of one of placement_.python_lines
    std::vector<int64_t> ends;  // of what is open, innermost last
  };
  // What an event's stats may tell of it.
  struct Taken {
    const xspace::Plane& plane;
    const Timed& timed;
    bool device;
    trace::TrackBuilder* track;
    bool root = false;  // of a step
    int64_t step = -1;
  };

  Status TakePlane(const xspace::Plane& plane);
  Status TakeLine(const xspace::Plane& plane, const xspace::Line& line, bool device);
  static bool OverlapsWithoutNesting(const std::vector<Timed>& events);
  static void EndInnermost(Lane* lane);
  Lane* LaneFor(std::vector<Lane>* lanes, const Timed& timed, const xspace::Plane& plane,
                const xspace::Line& line);
  trace::TrackBuilder* TrackFor(const xspace::Plane& plane, const xspace::Line& line, size_t lane);
  Status Put(const xspace::Plane& plane, const Timed& timed, bool device, Lane* lane);
  Status PutAllocation(const xspace::Plane& plane, const Timed& timed, trace::TrackBuilder* track);
  void TakeStat(const xspace::Stat& stat, Taken* taken);

  trace::Builder* builder_;
  trace::ProcessId process_;
  Placement placement_;
  int64_t start_ns_ = 0, stop_ns_ = 0, pid_ = 0;
  int64_t begin_ns_ = INT64_MAX, end_ns_ = INT64_MIN;
  bool apart_ = false;                         // none of the line's events lies in another
  trace::TrackBuilder* allocating_ = nullptr;  // the last on which memory changed
  std::vector<FileStep> steps_;
  uint64_t cut_steps_ = 0;
  int64_t far_lines_ = 0, far_events_ = 0, far_edges_ = 0, sums_ = 0, cut_off_ = 0, untold_ = 0;
};

}  // namespace crosscut::import
