// Which line of the program a thread was at, from moment to moment, by place: each stretch of its
// time has the sample that is next to it among those of its state. docs/samples.md has the rules.
//
// What a thread does is known exactly by its spans: the call that it is in, or the Python code
// between two calls. A sample tells the line of one instant. So a stretch asks the samples of its
// own state, then those of a wider one, and only as far as a sample reaches. What was seen before
// the first step, or behind the last, tells nothing of the steps. In steps that were left out calls
// are no spans: these have states of their own. No time is shared out.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cursors.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/thread_samples.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A thread, and what must be known of it.
struct ThreadView {
  const trace::Trace& trace;
  trace::TrackId track;
  const std::vector<Doing>& doing;            // by NameId
  const std::vector<trace::Interval>& off;    // when no sample was taken: ordered, disjoint
  const std::vector<trace::Interval>& marks;  // when calls were not recorded: likewise
  trace::Interval window;
  trace::Interval steps;  // from the first one's begin to the last one's end; none: empty
};

// From begin_ns to end_ns a thread is in one state.
struct StateStretch {
  int64_t begin_ns = 0, end_ns = 0;
  bool off = false;    // paused, or in a control step: no sample was taken, and nothing is known
  bool marks = false;  // in a step that was left out: a call is part of what is around it
  bool cut = false;    // Python that a collection of garbage begins or ends: it comes anywhere
  LeadStretch state;
};

inline constexpr size_t kKeys = 7;
// The stretches of a thread in order of time, each as long as its state. They cover the window.
class StateWalk {
 public:
  // What `thread` refers to must outlive it.
  explicit StateWalk(const ThreadView& thread);
  bool Next(StateStretch* stretch);
  // Names of the state of the stretch that came last, the narrowest first: in its operation the
  // call with the four before it, or Python code between two calls with four before; with one
  // before; without these; the layer there; the call or Python code in any operation; the layer;
  // all work. 0: there is none. A wait is like no other call; Crosscut's own work has no line. A
  // collection of garbage is no call that others are told by: Python code that one begins or ends
  // has its own states, whatever call follows.
  std::array<uint64_t, kKeys> Keys(const StateStretch& stretch) const;

 private:
  LeadStretch TakeState();
  // Which of the times before, between and behind these edges an instant is in.
  uint64_t PartOf(int64_t at_ns) const { return (at_ns >= edges_[0]) + (at_ns >= edges_[1]); }

  LeadCursor cursor_;
  BusyCursor off_, marks_;
  int64_t at_ns_;
  const int64_t end_ns_;
  const std::array<int64_t, 2> edges_;
  bool has_ahead_ = false;
  LeadStretch now_, ahead_;              // now_ is given out up to at_ns_
  bool cut_ = false;                     // now_ is, as StateStretch::cut
  std::array<trace::NameId, 4> before_;  // of the calls before now_, the last first
  uint64_t history_ = 0;                 // the key of all of them
};

struct LineStretch {
  int64_t begin_ns = 0, end_ns = 0;
  LeadStretch state;
  bool control = false;  // that layer is not known: docs/accounting.md has `control` in its place
  Line line;
  const ThreadSample* sample = nullptr;  // which tells it; null: none does
  double variance = 0;                   // that the sample brings, where its instant lies here

  // The stretch's part from begin to end, as it counts for its line.
  Blamed BlamedFor(int64_t begin, int64_t end) const {
    const bool has = sample != nullptr && begin <= sample->at_ns && sample->at_ns < end;
    return {end - begin, has ? 1 : 0, has ? variance : 0};
  }
};

class LineCursor {
 public:
  // `samples` are those of the thread. They and what `thread` refers to must outlive it.
  LineCursor(const ThreadView& thread, const std::vector<ThreadSample>& samples);
  LineCursor(const LineCursor&) = delete;
  LineCursor& operator=(const LineCursor&) = delete;
  // The stretch that `at_ns` lies in. Requires: `at_ns` is in the window and not smaller than in
  // the call before.
  const LineStretch& At(int64_t at_ns);

 private:
  // An instant of a stretch of time.
  struct Place {
    int64_t in_ns, length_ns;  // since the stretch began; how long that is
  };
  // The samples of one state, and a clock that runs while the thread is in it.
  struct State {
    int64_t elapsed_ns = 0;
    size_t nearest = 0;  // of `samples`, at that time
    std::vector<uint32_t> samples;
    std::vector<int64_t> at_ns;  // of each, by that clock
    std::vector<Place> places;   // of each
    std::vector<bool> mixed;     // of each: the samples next to it have several lines
  };
  struct Found {
    const ThreadSample* sample;  // null: none
    int64_t for_ns;              // how long that holds
  };
  // Where a sample stands among those of its states, the narrowest first.
  using InStates = std::array<std::pair<const State*, size_t>, kKeys>;
  void PlaceSamples();
  Line LineNextTo(const InStates& sample) const;
  double VarianceOf(const InStates& sample) const;
  State* Find(uint64_t key);
  void FindMixed(State* state) const;
  void FindExit();
  Found Nearest(State* state, size_t level, const Place& now) const;
  void Advance();

  const std::vector<ThreadSample>& samples_;
  std::vector<Line> lines_;        // of each: its own, or where its stack is cut that next to it
  std::vector<double> variances_;  // of each: LineStretch::variance
  const int64_t end_ns_;
  StateWalk walk_;
  std::unordered_map<uint64_t, State> states_;  // those that have samples
  struct Slot {
    uint64_t key = 0;
    State* state = nullptr;
  };
  std::array<Slot, 1024> slots_;  // what was looked for lately
  int64_t exit_ns_ = INT64_MAX, native_exit_ns_ = INT64_MAX;
  StateStretch piece_;
  std::array<State*, kKeys> of_piece_ = {};
  LineStretch now_;
};

}  // namespace crosscut::analyze
