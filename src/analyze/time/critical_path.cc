#include "src/analyze/time/critical_path.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_waits.h"
#include "src/analyze/recent.h"
#include "src/analyze/time/nesting_walk.h"
#include "src/trace/intervals.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;
using trace::TrackId;

constexpr const char* kKinds[] = {"host", "device", "launch", "queued", "unknown"};
constexpr int kMostMoves = 8;  // without going back in time; then the walk stays where it is

constexpr size_t kMostThreads = 128;  // that a thread with nothing to do may hand over to

// The program's threads of a process, by their index; of many the busiest, and the lead.
std::vector<TrackId> ThreadsOf(const trace::Trace& trace, const Context& context,
                               trace::ProcessId process, size_t* left_out) {
  const TrackId lead = trace.processes[process.value].lead;
  std::vector<TrackId> threads;
  for (const uint32_t t : context.tracks().of(process)) {
    const trace::Track& track = trace.tracks[t];
    if (track.kind == trace::TrackKind::kThread && !track.ours) threads.push_back({t});
  }
  *left_out = threads.size() - std::min(threads.size(), kMostThreads);
  if (*left_out == 0) return threads;
  const auto busier = [&](TrackId a, TrackId b) {
    const size_t x = trace.tracks[a.value].spans.size(), y = trace.tracks[b.value].spans.size();
    if ((a == lead) != (b == lead)) return a == lead;
    return x != y ? x > y : a.value < b.value;
  };
  std::sort(threads.begin(), threads.end(), busier);
  threads.resize(kMostThreads);
  std::sort(threads.begin(), threads.end(), [](TrackId a, TrackId b) { return a.value < b.value; });
  return threads;
}

// One process's walk: `take` is called with each PathSegment, the latest first, and the layer in
// force, of a host segment.
template <class Take>
class Walk {
 public:
  Walk(const trace::Trace& trace, const Context& context, trace::ProcessId process, Take take)
      : trace_(trace),
        process_(trace.processes[process.value]),
        work_(context.Shared<DeviceWork>().of(process)),
        threads_(ThreadsOf(trace, context, process, &left_out_)),
        pauses_(Disjoint(process_.paused, {process_.start_ns, process_.end_ns})),
        pause_(pauses_.size()),
        take_(std::move(take)) {
    if (work_ == nullptr) return;
    for (const DeviceWait& wait : FindDeviceWaits(trace, context, *work_)) {
      waits_[Key(wait.track, wait.call)] = wait.event;
    }
    FindPredecessors();
  }

  // Threads that were not looked at.
  size_t left_out() const { return left_out_; }

  void Run() {
    if (threads_.empty()) return;
    at_ = process_.end_ns;
    track_ = process_.lead.valid() ? process_.lead : threads_.front();
    while (at_ > process_.start_ns) {
      const int64_t before = at_;
      if (event_ != kNoEvent) {
        StepOnDevice();
      } else {
        StepOnThread();
      }
      moves_ = at_ < before ? 0 : moves_ + 1;
    }
  }

 private:
  static constexpr uint32_t kNoEvent = UINT32_MAX;
  static uint64_t Key(TrackId track, SpanIndex span) { return uint64_t{track.value} << 32 | span; }
  bool may_move() const { return moves_ < kMostMoves; }

  // The work on the same stream that ended last before each began. Work of one may overlap.
  void FindPredecessors() {
    using End = std::pair<int64_t, uint32_t>;  // when, of which
    struct Stream {
      std::priority_queue<End, std::vector<End>, std::greater<>> runs;
      uint32_t ended = kNoEvent;
    };
    before_.assign(work_->events.size(), kNoEvent);
    std::map<std::pair<int64_t, int64_t>, Stream> streams;
    for (uint32_t i = 0; i < work_->events.size(); ++i) {
      const DeviceEvent& event = work_->events[i];
      if (!event.work()) continue;
      auto& [runs, ended] = streams[{event.device, event.stream}];
      for (; !runs.empty() && runs.top().first <= event.begin_ns; runs.pop()) {
        ended = runs.top().second;
      }
      before_[i] = ended;
      runs.emplace(event.end_ns, i);
    }
  }

  NestingWalk& WalkOf(TrackId thread) {
    if (walk_ != nullptr && walked_ == thread) return *walk_;
    std::unique_ptr<NestingWalk>& walk = walks_[thread.value];
    if (walk == nullptr) {
      walk = std::make_unique<NestingWalk>(trace_, trace_.tracks[thread.value].spans);
    }
    walk_ = walk.get();
    walked_ = thread;
    return *walk_;
  }
  // Just before at_, which only ever gets earlier.
  const NestingWalk& At(TrackId thread) {
    NestingWalk& walk = WalkOf(thread);
    walk.GoTo(at_);
    return walk;
  }

  // When the span ended; `otherwise` where it is none.
  int64_t EndOf(TrackId thread, SpanIndex span, int64_t otherwise) const {
    return span == kNoSpan ? otherwise : trace_.tracks[thread.value].spans.end_ns[span];
  }

  // Takes what of the segment is outside of pauses, the latest first.
  void TakeUnpaused(PathSegment segment, trace::Layer layer) {
    const int64_t begin = segment.begin_ns;
    while (segment.end_ns > begin) {
      while (pause_ > 0 && pauses_[pause_ - 1].begin_ns >= segment.end_ns) --pause_;
      const bool any = pause_ > 0 && pauses_[pause_ - 1].end_ns > begin;
      segment.begin_ns = any ? std::min(pauses_[pause_ - 1].end_ns, segment.end_ns) : begin;
      if (segment.begin_ns < segment.end_ns) take_(segment, layer);
      segment.end_ns = any ? pauses_[pause_ - 1].begin_ns : begin;
    }
  }

  // Back to `to`, if that is before.
  void Back(int64_t to, PathSegment::Kind kind, TrackId track, SpanIndex span) {
    to = std::max(to, process_.start_ns);
    if (to >= at_) return;
    if (kind == PathSegment::kHost && track.valid()) return BackOnHost(to, track, span);
    TakeUnpaused({to, at_, kind, track, span}, trace::Layer::kNone);
    at_ = to;
  }

  // Where the thread's base layer is in force, a change of that is an edge.
  void BackOnHost(int64_t to, TrackId id, SpanIndex span) {
    const trace::Track& track = trace_.tracks[id.value];
    const trace::Layer layer = WalkOf(id).LayerIn(span);
    while (at_ > to) {
      const trace::Layer base = trace::BaseAt(track, at_ - 1);
      const bool of_base = layer == trace::Layer::kNone || base == trace::Layer::kOverhead;
      const std::vector<int64_t>& changes = track.base_at_ns;
      const auto change = std::lower_bound(changes.begin(), changes.end(), at_);
      const int64_t from = change == changes.begin() ? to : std::max(to, *std::prev(change));
      TakeUnpaused({from, at_, PathSegment::kHost, id, span}, of_base ? base : layer);
      at_ = from;
    }
  }

  void StepOnThread() {
    const trace::Spans& spans = trace_.tracks[track_.value].spans;
    const NestingWalk& walk = At(track_);
    const SpanIndex span = walk.innermost();
    if (!walk.Runs(span)) return StepOverNothing(span);
    const auto wait = waits_.empty() ? waits_.end() : waits_.find(Key(track_, span));
    if (wait != waits_.end() && may_move()) {
      const DeviceEvent& event = work_->events[wait->second];
      if (event.end_ns <= at_ && event.end_ns > spans.begin_ns[span]) {
        Back(event.end_ns, PathSegment::kHost, track_, span);
        event_ = wait->second;
        return;
      }
    }
    Back(OwnSince(span), PathSegment::kHost, track_, span);
  }

  // From when on the span, the innermost, was so: the end of its last child before, or its begin.
  int64_t OwnSince(SpanIndex span) {
    const int64_t begin = trace_.tracks[track_.value].spans.begin_ns[span];
    return std::max(begin, EndOf(track_, At(track_).ended(), begin));
  }

  // The thread runs nothing but perhaps an annotation: to the thread that did something, or back to
  // where this one did.
  void StepOverNothing(SpanIndex annotation) {
    const bool any = annotation != kNoSpan;
    const int64_t start = process_.start_ns;
    const int64_t own = any ? OwnSince(annotation) : EndOf(track_, At(track_).ended(), start);
    int64_t latest = own;
    TrackId thread = track_;
    for (const TrackId other : threads_) {
      if (other == track_ || !may_move()) continue;
      const NestingWalk& theirs = At(other);
      const bool runs = theirs.Runs(theirs.innermost());
      const int64_t end = runs ? at_ : EndOf(other, theirs.ran(), start);
      if (end > latest) latest = end, thread = other;
    }
    Back(latest, any ? PathSegment::kHost : PathSegment::kUnknown, any ? track_ : TrackId::None(),
         annotation);
    track_ = thread;
  }

  void StepOnDevice() {
    const uint32_t index = event_;
    const DeviceEvent& event = work_->events[index];
    Back(event.begin_ns, PathSegment::kDevice, event.track, event.span);
    event_ = kNoEvent;
    const uint32_t before = before_[index];
    const int64_t previous = before == kNoEvent ? INT64_MIN : work_->events[before].end_ns;
    if (event.launched()) {
      const trace::Interval call = IntervalOf(trace_, event.launch_track, event.launch);
      if (previous <= call.begin_ns) {
        Back(std::min(call.end_ns, at_), PathSegment::kLaunch, event.track, event.span);
        track_ = event.launch_track;
        return;
      }
    }
    if (before == kNoEvent) return;  // nobody knows why it began: on with the thread
    Back(previous, PathSegment::kQueued, event.track, event.span);
    event_ = before;
  }

  const trace::Trace& trace_;
  const trace::Process& process_;
  const ProcessWork* work_;
  size_t left_out_ = 0;
  std::vector<TrackId> threads_;
  std::unordered_map<uint64_t, uint32_t> waits_;                      // call to event
  std::vector<uint32_t> before_;                                      // by event
  std::unordered_map<uint32_t, std::unique_ptr<NestingWalk>> walks_;  // by track that is looked at
  NestingWalk* walk_ = nullptr;                                       // of walked_, the last one
  TrackId walked_;
  std::vector<trace::Interval> pauses_;
  size_t pause_;  // so many begin before what is taken next
  int64_t at_ = 0;
  TrackId track_;
  uint32_t event_ = kNoEvent;
  int moves_ = 0;
  Take take_;
};

// What a segment is of.
std::string_view NameText(const trace::Trace& trace, const PathSegment& segment) {
  const bool known = segment.track.valid() && segment.span != kNoSpan;
  return known ? trace.span_text(segment.track, segment.span) : "";
}

// A host segment is its layer's, a device's its type's.
std::string_view LayerText(const trace::Trace& trace, const PathSegment& segment,
                           trace::Layer layer) {
  if (segment.kind == PathSegment::kUnknown) return "";
  if (segment.kind == PathSegment::kHost) return trace::LayerName(layer);
  const trace::Spans& spans = trace.tracks[segment.track.value].spans;
  return NameOf(TypeOfWork(trace, trace.name(spans.name[segment.span])));
}

template <class Rows>
Table TellLeftOut(size_t threads, Rows& table) {
  if (threads > 0) {
    table.Note(std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
               " of processes with more than " + std::to_string(kMostThreads) +
               " were not looked at: those with the fewest spans.");
  }
  return table.Make();
}

}  // namespace

std::vector<PathSegment> FindCriticalPath(const trace::Trace& trace, const Context& context,
                                          trace::ProcessId process) {
  std::vector<PathSegment> segments;
  Walk(trace, context, process, [&](const PathSegment& segment, trace::Layer) {
    segments.push_back(segment);
  }).Run();
  std::reverse(segments.begin(), segments.end());
  return segments;
}

Table CriticalPathTable(const trace::Trace& trace, const Context& context) {
  TableRows table("critical_path", Text("process"), Text("kind"), Text("layer"), Text("name"),
                  Integer("count"), Integer("ns"));
  size_t left_out = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    struct Sum {
      PathSegment first;  // of them, in time
      trace::Layer layer = trace::Layer::kNone;
      int64_t count = 0, ns = 0;
    };
    std::unordered_map<uint64_t, Sum> sums;  // by kind, layer and text
    Recent<decltype(sums)> recent;
    const auto add = [&](const PathSegment& segment, trace::Layer in_force) {
      uint64_t key = uint64_t{segment.kind} << 48 | static_cast<uint64_t>(in_force) << 40;
      if (segment.track.valid() && segment.span != kNoSpan) {
        const trace::Spans& spans = trace.tracks[segment.track.value].spans;
        key |= trace.name(spans.name[segment.span]).text.value;
      }
      Sum& sum = recent.In(&sums, key);
      sum.first = segment;
      sum.layer = in_force;
      ++sum.count;
      sum.ns += segment.end_ns - segment.begin_ns;
    };
    Walk walk(trace, context, {p}, add);
    walk.Run();
    left_out += walk.left_out();
    std::vector<const Sum*> order;
    for (const auto& [key, sum] : sums) order.push_back(&sum);
    std::sort(order.begin(), order.end(), [](const Sum* a, const Sum* b) {
      return a->ns != b->ns ? a->ns > b->ns : a->first.begin_ns < b->first.begin_ns;
    });
    for (const Sum* sum : order) {
      table.Add(context.process_label({p}), kKinds[sum->first.kind],
                LayerText(trace, sum->first, sum->layer), NameText(trace, sum->first), sum->count,
                sum->ns);
    }
  }
  return TellLeftOut(left_out, table);
}

Table CriticalPathSegmentsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("critical_path_segments", Text("process"), Text("kind"), Text("layer"),
                  Text("name"), Text("track"), Integer("begin_ns"), Integer("end_ns"));
  size_t left_out = 0;
  struct Segment {
    PathSegment part;
    trace::Layer layer;
  };
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    std::vector<Segment> segments;
    Walk walk(trace, context, {p}, [&](const PathSegment& segment, trace::Layer in_force) {
      segments.push_back({segment, in_force});
    });
    walk.Run();
    left_out += walk.left_out();
    for (auto at = segments.rbegin(); at != segments.rend(); ++at) {
      const PathSegment& segment = at->part;
      table.Add(context.process_label({p}), kKinds[segment.kind],
                LayerText(trace, segment, at->layer), NameText(trace, segment),
                segment.track.valid() ? context.track_label(segment.track) : "", segment.begin_ns,
                segment.end_ns);
    }
  }
  return TellLeftOut(left_out, table);
}

}  // namespace crosscut::analyze
