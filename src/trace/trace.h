// The trace in memory, whatever it came from: processes, their tracks, and on each track properly
// nested spans. Struct of arrays, integer nanoseconds, typed ids. Importers fill it through Builder
// (builder.h); analyses and exporters only read it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/trace/args.h"
#include "src/trace/column.h"
#include "src/trace/ids.h"
#include "src/trace/kept.h"

namespace crosscut::trace {

struct Trace;

enum class Layer : uint8_t {  // numbers as in the native format: import/native/native_numbers.cc
  kNone = 0,
  kPython = 1,
  kFramework = 2,
  kRuntime = 3,
  kSimulator = 4,
  kData = 5,
  kComm = 6,
  kNative = 7,
  kIdle = 8,
  kOverhead = 9,
  kDevice = 10,
  kControl = 11,
};
inline constexpr int kLayerCount = 12;
std::string_view LayerName(Layer layer);  // "python"; "" for kNone
// Sets `*layer` to the layer of that name. False where there is none. "" and "none" are kNone.
bool ParseLayer(std::string_view name, Layer* layer);

// The name of a device that has memory, by PyTorch's number of its type (c10::DeviceType): "cpu",
// "cuda:2".
std::string MemoryDeviceName(int64_t type, int64_t index);

// kPart: an operation that an adapter found inside one that the program declares (trace/found.h).
enum class Kind : uint8_t { kSpan, kOperation, kStep, kPhase, kText, kPart };

// Unique strings, all of them UTF-8: here bytes of any origin become text, so nobody asks again.
// Not thread-safe. Moves, but is not copied. Views are valid as long as the object.
class Strings {
 public:
  Strings() = default;
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;

  // What is no UTF-8 becomes U+FFFD (base::CleanUtf8).
  StringId Intern(std::string_view text);
  StringId Find(std::string_view text) const;  // none where `text` was never interned
  std::string_view Get(StringId id) const { return id.valid() ? texts_[id.value] : ""; }
  size_t size() const { return texts_.size(); }
  // How many different texts were no UTF-8 since the last call.
  size_t TakeCleaned() { return std::exchange(cleaned_, 0); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> index_;
  std::vector<std::string_view> texts_;  // views of the map's keys, which do not move
  size_t cleaned_ = 0;
};

// What all spans of one name have in common.
struct Name {
  StringId text;
  Kind kind = Kind::kSpan;
  Layer layer = Layer::kNone;  // kNone: the layer below the span stays in force
  bool waits = false;          // such a span waits for another thread's work
  StringId probe = {};  // the probe kind that records it; none: not Crosscut's, or the user's
  // The line of the Python caller from which such spans are called; 0: not known. Names that differ
  // only in it or in `overload` are one function.
  int32_t called_at = 0;
  bool found = false;    // a step or operation: an adapter found it, the program did not declare it
  bool crosses = false;  // may end across other spans of its track
  StringId overload = {};  // of an operator: "Tensor" of aten::add.Tensor; none: it has none
  // What the file calls such events, "" where it says nothing; none: from no file of a format with
  // categories. Names that differ only in it are one function.
  StringId category = {};

  bool scope() const { return kind == Kind::kOperation || kind == Kind::kPart; }
};

// The spans of one track in order of begin; a parent stands before its children. Half-open: [begin,
// end).
struct Spans {
  Column<int64_t> begin_ns, end_ns;  // on the trace's clock (Trace::clock)
  Column<NameId> name;
  Column<SpanIndex> parent;  // kNoSpan at top level
  // Sorted: spans that go on with an earlier one of their name. Operations and Python functions may
  // end across each other. The one that outlives the span in which it began is cut in two, and
  // counts once. So is an operation of a task that was suspended meanwhile.
  std::vector<SpanIndex> continued;
  std::vector<SpanIndex> parts_before;  // by `continued`: the earlier one, which ends first
  // Sorted: spans that a file has longer than they could be here, with the ends that it states.
  std::vector<std::pair<SpanIndex, int64_t>> stated_ends;
  size_t size() const { return begin_ns.size(); }
  // The end that the file states; the span's own where it is that.
  int64_t StatedEnd(SpanIndex span) const;
};

// For a walk over all spans in their order: tells whether the next one goes on with an earlier one.
class Continuations {
 public:
  explicit Continuations(const Spans& spans) : spans_(spans) {}
  // Requires: `span` is greater than in the call before.
  bool Has(SpanIndex span) {
    if (next_ == spans_.continued.size() || spans_.continued[next_] != span) return false;
    ++next_;
    return true;
  }

 private:
  const Spans& spans_;
  size_t next_ = 0;
};

struct Instants {
  std::vector<int64_t> at_ns;
  std::vector<NameId> name;
};

struct Loss {  // events missing here
  int64_t begin_ns, end_ns;
  int64_t count;
  StringId reason;  // "full", "overwritten", "memory", "disk", "damaged", "names", "fork",
                    // "plugin", "value"
};

// kAsync: what threads began and did not wait for. A process has as many such tracks as its spans
// need to lie side by side.
enum class TrackKind : uint8_t { kThread, kDevice, kAsync };

struct Track {
  ProcessId process;
  TrackKind kind = TrackKind::kThread;
  StringId name;
  int64_t os_id = 0;                 // thread id; stream id on a device
  int64_t device = -1;               // device id, -1 on the host
  StringId device_name;              // "MYCHIP 9000"; none: not known
  StringId file_pid, file_tid;       // as JSON in the file of Trace::kept; none: no such file
  uint32_t file_row = 0;             // the row of that file; several tracks may be of one
  int32_t profile = -1;              // of Trace::profiles, of which it was made; -1: of none
  bool main = false, ours = false;   // main thread; a thread of Crosscut itself
  int64_t begin_ns = 0, end_ns = 0;  // observed life
  // The layer outside every span, from base_at_ns[i] on; kNone before the first.
  std::vector<int64_t> base_at_ns;
  std::vector<Layer> base;
  Spans spans;
  Args args;  // by span
  Instants instants;
  Args instant_args;  // by instant
  std::vector<Loss> losses;
  // How often reading repaired something: times out of order, ends without a begin, spans without
  // an end. Reports show them as gaps.
  int64_t clamped = 0, unbalanced = 0, unfinished = 0;
  // How many spans go on with an earlier one of several that it may be, and nothing tells which:
  // what goes on inside another one was inside that before; else it is what has waited longest.
  int64_t guessed = 0;
};

// Levels of a step plan have the numbers of recordings: 0 control, 1 boundary, 2 operators,
// 3 everything, 4 marks. By how much of a step each shows: control 0, marks, boundary, operators,
// everything 4.
inline constexpr uint8_t kControlLevel = 0, kMarksLevel = 4;
inline constexpr int kDetails = 5;
constexpr int DetailOf(uint8_t level) {
  return level == kMarksLevel ? 1 : level == kControlLevel ? 0 : level < 3 ? level + 1 : 4;
}
constexpr uint8_t LevelOfDetail(int detail) {
  return static_cast<uint8_t>(detail == 1 ? kMarksLevel : detail == 0 ? 0 : detail - 1);
}

// A step of a process, with what the step plan did to it.
struct Step {
  int64_t number = 0;
  int64_t begin_ns = 0, end_ns = 0;
  StringId kind;  // "step" unless the program says otherwise
  uint8_t level = 2;
  bool after_switch = false;  // the probes were switched at its begin; it counts in no comparison
  // Its end is not known. It ends with its work: with the last operation that began in it on its
  // thread, else with the last span. What comes later, such as the end of the program, is in no
  // step. It counts in no comparison either.
  bool open = false;
  TrackId track = {};  // the one that began it; none: not known

  bool control() const { return level == kControlLevel; }
  bool left_out() const { return level == kMarksLevel; }  // by the budget: only marks are known
  bool profiled() const { return DetailOf(level) > 1; }
};

// "control", "boundary", "operators", "everything", "marks".
std::string_view StepLevelName(uint8_t level);

struct Interval {
  int64_t begin_ns, end_ns;
};
// A session of a process: recording from a start to a stop.
struct Window {
  int64_t number = 0;  // from 1; equal in all processes that were started together
  int64_t begin_ns = 0, end_ns = 0;
  bool complete = true;  // it was stopped, or the program ended
};
struct Phase {
  StringId name;
  int64_t begin_ns, end_ns;
};

// The cost of one event of a probe kind, in picoseconds; [low, high] bounds inside + outside.
struct ProbeCost {
  StringId probe;
  int64_t inside_ps, outside_ps, low_ps, high_ps, samples;
  // What it costs inside in addition, with its bounds, that is not withdrawn in control steps: the
  // comparison with these neither shows nor scales it.
  int64_t unswitched_ps = 0, unswitched_low_ps = 0, unswitched_high_ps = 0;
};

struct Source {
  StringId name, version, state, message;
  bool holds = false;  // the process ended before it had handed everything over
};
struct Clock {
  StringId name;
  int64_t anchors, error_ns;
};

struct Process {
  StringId key;   // unique in the run and stable: names its log
  StringId name;  // process_name(), else the program
  int64_t pid = 0, parent_pid = 0;
  ProcessId parent;
  StringId start_method;             // "record", "fork", "spawn", "exec", "subprocess", ...
  int64_t start_ns = 0, end_ns = 0;  // the window, pauses still inside
  int64_t starting_ns = 0;           // right before the window: what starting the recorder took
  std::vector<Interval> paused;      // in order, disjoint, not empty
  std::vector<Window> windows;       // in order; those of imported traces are not known
  bool complete = true;              // false: killed, cut off or damaged
  bool alive = false;                // when it was read; it may go on recording
  StringId why_incomplete;
  TrackId lead;  // none: no thread was seen
  std::vector<Step> steps;
  std::vector<Phase> phases;
  std::vector<ProbeCost> probes;
  std::vector<Source> sources;
  bool profiled_beside = false;  // another profiler ran in it, too; no probe has its cost
  std::vector<Clock> clocks;
  std::vector<std::pair<StringId, StringId>> meta;  // everything else that the log states
};

// Whether the process's steps were recorded at different levels.
bool HasStepPlan(const Process& process);

// The tracks of each process, in their order, for walks over processes.
class TracksByProcess {
 public:
  explicit TracksByProcess(const Trace& trace);
  // Indices into Trace::tracks. Requires: the trace has that process.
  std::span<const uint32_t> of(ProcessId process) const {
    const size_t from = first_[process.value], to = first_[process.value + 1];
    return {tracks_.data() + from, to - from};
  }

 private:
  std::vector<uint32_t> tracks_, first_;  // first_: by process, where its own begin
};

// An arrow: out of span `from` of track `from_track`, into span `to` of track `to_track`.
struct Flow {
  uint64_t id;
  TrackId from_track, to_track;
  SpanIndex from, to;
  int64_t from_ns, to_ns;
};

struct CounterSeries {
  ProcessId process;
  NameId name;
  std::vector<int64_t> at_ns, value;
};

// What a source of a process collected itself: files that hold more than the tracks that were made
// of them, for who writes their format.
struct Profile {
  struct Part {
    std::string path;         // of an XSpace
    int64_t counts_from = 0;  // a line with a time below half of this counts from it; 0: none
  };
  ProcessId process;
  std::vector<Part> parts;                  // in order; each goes on with the one before
  std::map<int64_t, int64_t> python_lines;  // those of Python's threads, with the threads' ids
};

struct Trace {
  Strings strings;
  std::vector<Name> names;
  std::vector<Process> processes;
  std::vector<Track> tracks;
  std::vector<Flow> flows;
  std::vector<CounterSeries> counters;
  std::vector<std::string> gaps;  // sentences for the top of every report, most serious first
  std::string clock = "CLOCK_MONOTONIC";  // or "CLOCK_REALTIME", "not known", ...
  int64_t realtime_offset_ns = 0;         // CLOCK_REALTIME = trace clock + this
  std::string command;                    // of the run, as a shell would read it; "" not known
  int64_t started_realtime_ns = 0;        // 0 not known
  std::string machine;                    // its processors; "" not known
  bool damaged = false;                   // a part of the input could not be read; gaps say which
  Kept kept;                              // of the one file from which the trace comes, else empty
  std::vector<Profile> profiles;          // that were read whole

  bool KnowsTimeOfDay() const { return realtime_offset_ns != 0 || clock == "CLOCK_REALTIME"; }
  const Name& name(NameId id) const { return names[id.value]; }
  std::string_view text(StringId id) const { return strings.Get(id); }
  // The text of a name, "" for none, and of a span's.
  std::string_view name_text(NameId id) const { return id.valid() ? text(name(id).text) : ""; }
  std::string_view span_text(TrackId track, SpanIndex span) const {
    return name_text(tracks[track.value].spans.name[span]);
  }
  // A process as people know it, "train.py (pid 4711)"; by its key where its program is not known.
  std::string title(ProcessId process) const;
  // Whether the argument is a number that is no 64-bit integer; sets `*real` to it.
  bool RealOf(const Arg& arg, double* real) const;
};

}  // namespace crosscut::trace
