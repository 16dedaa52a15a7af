// Makes a Trace: importers and tests report what happened on each track, in any interleaving of
// tracks, and get properly nested spans, matched arrows and counted repairs.
//
// Times are nanoseconds on the trace's clock. A Builder is used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory_resource>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/trace/blocks.h"
#include "src/trace/trace.h"

namespace crosscut::trace {

// One end of an arrow; span: kNoSpan where none was open.
struct FlowEnd {
  uint64_t id;
  int64_t at_ns;
  TrackId track;
  SpanIndex span;
  bool out;
  bool closed = false;  // `span` is the number of a call of SpanAt
};

// Builds the spans of one track. Times come in order; a time before the last one is set to the last
// one and counted in Track::clamped. SpanAt and Instant may come in any order.
class TrackBuilder {
 public:
  // `names` must outlive the builder and may grow meanwhile.
  TrackBuilder(const std::vector<Name>* names, TrackId id) : names_(names), id_(id) {}

  // The caller fills in the facts (process, name, ids, flags). The builder makes the spans and all
  // that belongs to them.
  Track& track() { return track_; }
  TrackId id() const { return id_; }

  void Begin(int64_t at, NameId name) {
    Open(Advance(at), name);
    last_ = Target::kSpan;
  }
  // The span that began last ends at `end` in its file, whenever it has to end here.
  void StateEnd(int64_t end) {
    track_.spans.stated_ends.emplace_back(static_cast<SpanIndex>(track_.spans.size() - 1), end);
  }
  // Begins a span that goes on with an earlier one of its name, which was ended before: that of
  // GoesOnWith(), else one that is chosen as Track::guessed says. Where there is none, it is a span
  // of its own.
  void GoOn(int64_t at, NameId name) {
    NoteContinued(kNoSpan);
    Begin(at, name);
  }
  // The span of the last GoOn goes on with the one of its name that ended at `ended`: of several,
  // with the one around `inside` of them.
  void GoesOnWith(int64_t ended, uint32_t inside);
  // Ends the innermost span; counted as unbalanced where none is open.
  void End(int64_t at) {
    at = Advance(at);
    if (open_.empty()) [[unlikely]] {
      ++track_.unbalanced;
      return;
    }
    track_.spans.end_ns[open_.back()] = at;
    open_.pop_back();
  }
  // Ends the innermost open span that does not end by name; spans above it go on.
  void EndSpan(int64_t at) {
    if (open_.empty() || EndsByName(open_.back())) [[unlikely]]
      return EndBelow(at);
    End(at);
  }
  // Ends the innermost open span of that name; counted as unbalanced where there is none. Spans
  // above it end, too, except those that have an end of their own: above an operation, the spans
  // that hooks record (their name has a probe); above another span, those that end by name; above
  // one with Name::crosses, all.
  void EndNamed(int64_t at, NameId name);
  // Spans that go on are cut in two, and not without end: where so many lie in what ends, so often,
  // that ends where the first of them began, and a gap counts it. The innermost open span is right
  // at each instant then, too; Spans::stated_ends has the end.
  //
  // Ends the open span at that depth (0: the outermost); spans above it go on. Requires: there is
  // one.
  void EndAt(int64_t at, size_t depth);
  // Ends the open spans whose end, in `ends` by depth, is `at`; the others above them go on.
  // Requires: there is one.
  void EndThose(int64_t at, std::span<const int64_t> ends);
  // An end by name without an open span of that name on this track: the span may have begun on
  // another.
  struct EndElsewhere {
    int64_t at;
    NameId name;
  };
  const std::vector<EndElsewhere>& ends_elsewhere() const { return ends_elsewhere_; }
  // Spans that end by name and have had no end: they are open, or ended with the span around them.
  // This and the next two are for the time before Finish.
  std::vector<SpanIndex> Unended() const;
  // Where a span began, counting earlier parts with which it goes on, but for those before it was
  // suspended.
  int64_t BeginOf(SpanIndex span) {
    FindParts();
    for (SpanIndex part = span; part != kNoSpan; part = CutPart(part)) span = part;
    return track_.spans.begin_ns[span];
  }
  // Removes the spans with their earlier parts from this track; what they hold goes to their
  // parents. Call it once at most, after BeginOf.
  void TakeOut(std::vector<SpanIndex> spans);
  // Counts one unbalanced end less: its begin was found on another track.
  void FoundElsewhere() { --track_.unbalanced; }
  // A call that runs when a hook on calls is installed, or comes to this thread. `begun`: it is not
  // one of the hook's frames, but a native call, which has begun its span already if it was
  // recorded.
  struct Running {
    NameId name;
    bool begun;
  };
  using Frames = std::unordered_set<uint32_t>;  // names of the hook's spans, by NameId::value
  // The hook is removed: its frames end at `at`, or at the last time if that is later, and what
  // they called goes on.
  void EndFrames(int64_t at, const Frames& frames);
  // All calls that run, outermost first; any other open frames end. A call goes on with an earlier
  // span of its name that EndFrames ended.
  void Runs(int64_t at, std::span<const Running> running, const Frames& frames);
  // Makes room for so many spans, if the number is known: growing takes twice the memory.
  void Reserve(size_t spans);
  // From now on every span has an end of its own: none ends with the span around it.
  void TellsAllEnds() { tells_all_ends_ = true; }
  // A finished span from elsewhere; it is nested among the others in Finish.
  void SpanAt(int64_t begin, int64_t end, NameId name);
  // Where spans of SpanAt overlap without nesting, none lies in another: those that overlap go to
  // tracks of their own with all they have; `beside` makes the next such track. What more than
  // kMostLanes would have to hold is cut in Finish. For tracks that have no other spans, once,
  // behind the last span.
  static constexpr size_t kMostLanes = 1024;
  void Spread(const std::function<TrackBuilder*()>& beside);
  void Instant(int64_t at, NameId name);
  // Arguments of the span or instant that came last; without effect where there is none.
  void Arg(StringId key, int64_t value) { Add({key, false, value}); }
  void ArgText(StringId key, StringId text) { Add({key, true, text.value}); }
  void Add(const trace::Arg& arg);
  // The span that began last, if it was the last to come and has no arguments yet; else kNoSpan.
  SpanIndex LastWithoutArgs() const {
    if (last_ != Target::kSpan) return kNoSpan;
    const auto span = static_cast<SpanIndex>(track_.spans.size() - 1);
    return track_.args.of(span).begin() == track_.args.of(span).end() ? span : kNoSpan;
  }
  // Args::SharedOf and Args::Share for a span of this track.
  Args::Shared SharedArgs(SpanIndex span) const { return track_.args.SharedOf(span); }
  void ShareArgs(SpanIndex span, Args::Shared shared) { track_.args.Share(span, shared); }
  // Args::Take for the span or instant that came last. Requires: the track's arguments of that kind
  // were set to from->LikeThese().
  void TakeArgs(Args* from, uint32_t which);
  void FlowOut(int64_t at, uint64_t id) { AddFlow(at, id, true); }
  void FlowIn(int64_t at, uint64_t id) { AddFlow(at, id, false); }
  // An arrow that arrives at the span of the last SpanAt; without effect where there is none.
  void FlowIntoLast(uint64_t id) {
    if (closed_.empty()) return;
    const auto last = static_cast<SpanIndex>(closed_.size() - 1);
    flows_.push_back({id, closed_.back().begin, id_, last, false, true});
  }
  // The layer outside every span, from `at` on.
  void Base(int64_t at, Layer layer);
  // Recording stops on this thread and goes on. Between them there is no base layer, and open spans
  // stay open.
  void Off(int64_t at);
  void On(int64_t at);
  // Events are missing from loss.begin_ns to loss.end_ns.
  void Lose(const Loss& loss) { track_.losses.push_back(loss); }
  // From `at` on exactly the spans `open` are open, outermost first. Spans that are open already
  // and match it from the outermost on go on. The other open ones end at `ended` (at most `at`);
  // the other ones of `open` begin at `at`.
  void Restart(int64_t ended, int64_t at, std::span<const NameId> open);

  // Ends open spans at `end` (counted as unfinished), nests and sorts. Call it once, at the end.
  // The life of the track becomes [begin, end], widened to hold all its spans.
  void Finish(int64_t begin, int64_t end);
  int64_t last_ns() const { return last_ns_; }  // the latest time that came in order
  bool empty() const { return track_.spans.size() == 0 && closed_.empty(); }

 private:
  friend class Builder;
  enum class Target : uint8_t { kNothing, kSpan, kClosed, kInstant };
  struct Closed {
    int64_t begin, end;
    NameId name;
    uint32_t order;
    static bool Before(const Closed& a, const Closed& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.order < b.order;
    }
  };

  int64_t Advance(int64_t at) {
    if (at < last_ns_) [[unlikely]] {
      ++track_.clamped;
      return last_ns_;
    }
    return last_ns_ = at;
  }
  void Open(int64_t at, NameId name) {
    const auto index = static_cast<SpanIndex>(track_.spans.size());
    track_.spans.begin_ns.push_back(at);
    track_.spans.end_ns.push_back(at);
    track_.spans.name.push_back(name);
    track_.spans.parent.push_back(open_.empty() ? kNoSpan : open_.back());
    open_.push_back(index);
  }
  // The span that is opened next goes on with `part`.
  void NoteContinued(SpanIndex part) {
    track_.spans.continued.push_back(static_cast<SpanIndex>(track_.spans.size()));
    track_.spans.parts_before.push_back(part);
  }
  void CloseFrom(size_t depth, int64_t at);
  // Of closed_, in its order: what goes to which of so many tracks, of which this is the first.
  void MoveTo(std::span<const uint32_t> lanes, size_t count,
              const std::function<TrackBuilder*()>& beside);
  // Of what goes on and has no part before yet.
  void FindParts();
  void DropThoseThatGoOnWithNothing();
  SpanIndex PartBefore(SpanIndex span) const;
  // The same, but none where the span was suspended.
  SpanIndex CutPart(SpanIndex span) const {
    const SpanIndex part = PartBefore(span);
    return part == kNoSpan || track_.spans.end_ns[part] != track_.spans.begin_ns[span] ? kNoSpan
                                                                                       : part;
  }
  void RemoveTaken();
  const Name& NameOf(SpanIndex span) const { return (*names_)[track_.spans.name[span].value]; }
  bool IsOperation(SpanIndex span) const { return NameOf(span).kind == Kind::kOperation; }
  bool EndsByName(SpanIndex span) const { return IsOperation(span) || NameOf(span).crosses; }
  void EndBelow(int64_t at);
  // Ends open_[depth] and those above it that `goes_on` denies; cuts the others in two.
  template <class GoesOn>
  void EndOne(size_t depth, int64_t at, GoesOn goes_on);
  bool MayCut(size_t spans);
  void EndBeneath(size_t depth, int64_t at, std::span<const SpanIndex> left);
  // The stack with `running` in it.
  struct Next {
    SpanIndex span;  // kNoSpan: begins, or goes on with one that was cut
    NameId name;
  };
  std::vector<Next> Arrange(std::span<const Running> running) const;
  SpanIndex TakeCut(NameId name, size_t* from) const;
  // Whose arguments those of what was last begun or marked are; null where there is nothing.
  Args* ArgsOfLast(uint32_t* owner);
  void AddFlow(int64_t at, uint64_t id, bool out);
  void MergeClosed();
  void Remap(const Column<SpanIndex>& opened, const Column<SpanIndex>& closed);

  const std::vector<Name>* names_;
  TrackId id_;
  Track track_;
  std::vector<SpanIndex> open_;
  std::vector<SpanIndex> cut_;  // by EndFrames since the last Runs, outermost first
  size_t cuts_ = 0;             // by EndOne, as is:
  uint64_t outlived_ = 0;       // so many spans end where another one began
  int64_t last_ns_ = INT64_MIN;
  Target last_ = Target::kNothing;
  bool off_ = false, finished_ = false, tells_all_ends_ = false;
  Layer base_before_off_ = Layer::kNone;
  std::vector<Closed> closed_;
  Args closed_args_;  // by index into closed_
  Blocks<FlowEnd, 11> flows_;
  struct Told {
    size_t which;  // of Spans::continued
    int64_t ended;
    uint32_t inside;
  };
  std::vector<Told> told_;  // by GoesOnWith, until FindParts
  std::vector<EndElsewhere> ends_elsewhere_;
  std::vector<SpanIndex> taken_along_;  // what ends by name, and ended with what it began in
  std::vector<SpanIndex> taken_;
};

// The whole trace.
class Builder {
 public:
  Trace& trace() { return trace_; }
  StringId Text(std::string_view text) { return trace_.strings.Intern(text); }
  // Equal names give equal ids.
  NameId AddName(const Name& name);
  ProcessId AddProcess(std::string_view key);
  Process& process(ProcessId id) { return trace_.processes[id.value]; }
  // The reference stays valid until Finish.
  TrackBuilder& AddTrack(ProcessId process, TrackKind kind);
  TrackBuilder& track(TrackId id) { return tracks_[id.value]; }
  size_t tracks() const { return tracks_.size(); }
  // Steps and phases stand beside the tracks. A begin ends the process's running step or phase;
  // `track` is where it was declared. A step that an adapter found is dropped if the next step is
  // one that the program declares. Those of several tracks may come in any order.
  void StepBegin(TrackId track, int64_t at, NameId name);
  // Number and level of the track's last step. Without a number it is the next one.
  static constexpr int64_t kNoNumber = INT64_MIN;
  void StepLevel(TrackId track, int64_t number, uint8_t level, bool after_switch);
  void StepEnd(TrackId track, int64_t at);
  void PhaseBegin(TrackId track, int64_t at, NameId name);
  void PhaseEnd(TrackId track, int64_t at);
  void Count(ProcessId process, NameId name, int64_t at, int64_t value);

  // How many ends of arrows have no other end, of ids with these two top bits. After Finish.
  uint64_t DanglingFlows(unsigned top_bits) const { return dangling_[top_bits]; }
  // How many departures have another one of the same id between them and an arrival, of ids with
  // these two top bits. After Finish.
  uint64_t RepeatedFlows(unsigned top_bits) const { return repeated_[top_bits]; }

  // Returns the trace and leaves the builder empty. Finishes every track that its owner did not
  // finish (life: its process's window). Matches arrows inside a process; those whose ids have the
  // top bit set, also across processes. Joins steps and phases, and ends open steps (Step::open).
  // Chooses leads that were not set: the thread that began most steps (the first to have so many);
  // else the first that declares an operation; else, where some are found, the main thread if it
  // has one, or the first that has; else the main thread; else the first. Sorts counters.
  Trace Finish();

 private:
  // An edge of a step or phase.
  struct Edge {
    int64_t at;
    TrackId track;
    NameId name;  // none: an end
    int64_t number;
    uint8_t level;
    bool after_switch, phase;
  };
  std::vector<Edge>& EdgesOf(TrackId track);
  void MatchFlows();
  void Match(std::vector<FlowEnd> ends);
  // The tracks' own; those that lead from one process to another go into `shared`.
  static std::vector<FlowEnd> TakeEnds(const std::vector<TrackBuilder*>& tracks,
                                       std::vector<FlowEnd>* shared);
  static void SortEdges(std::vector<Edge>* edges);
  void JoinEdges(Process* process, std::vector<Edge>* edges);
  void EndOpenSteps(Process* process) const;
  struct Work {
    int64_t end_ns;  // of its last operation; of its last span, where there is none
    bool has_operations;
  };
  Work WorkIn(const Step& step) const;
  void ChooseLead(Process* process, const std::vector<size_t>& tracks) const;

  Trace trace_;
  // In large pieces, so that what is left of a track does not lie between freed builders.
  std::pmr::monotonic_buffer_resource room_{size_t{1} << 16};
  std::pmr::deque<TrackBuilder> tracks_{&room_};
  std::vector<std::vector<Edge>> edges_;                   // by process
  std::unordered_multimap<uint64_t, NameId> names_;        // by hash of the name
  std::unordered_map<uint64_t, size_t> counters_;          // process and name to series
  std::array<uint64_t, 4> dangling_ = {}, repeated_ = {};  // by the two top bits of their ids
};

}  // namespace crosscut::trace
