#include "src/analyze/critical_path.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/analyze/columns.h"
#include "src/analyze/device_waits.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;
using trace::TrackId;

constexpr const char* kKinds[] = {"host", "device", "launch", "queued", "unknown"};
constexpr int kMostMoves = 8;  // without going back in time; then the walk stays where it is

// One process's walk: `take` is called with each PathSegment, the latest first.
template <class Take>
class Walk {
 public:
  Walk(const trace::Trace& trace, const Context& context, trace::ProcessId process, Take take)
      : trace_(trace), process_(trace.processes[process.value]), take_(std::move(take)) {
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
      const trace::Track& track = trace.tracks[t];
      const bool host = track.kind == trace::TrackKind::kThread && !track.ours;
      if (track.process == process && host) threads_.push_back({t});
      begun_.push_back(static_cast<SpanIndex>(track.spans.size()));
    }
    for (const ProcessWork& work : context.device_work()) {
      if (work.process == process) work_ = &work;
    }
    if (work_ == nullptr) return;
    for (const DeviceWait& wait : FindDeviceWaits(trace, *work_)) {
      waits_[Key(wait.track, wait.call)] = wait.event;
    }
    FindPredecessors();
  }

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

  // The work on the same stream that ended last before each began.
  void FindPredecessors() {
    before_.assign(work_->events.size(), kNoEvent);
    std::map<std::pair<int64_t, int64_t>, uint32_t> last;
    for (uint32_t i = 0; i < work_->events.size(); ++i) {
      const DeviceEvent& event = work_->events[i];
      if (!event.work()) continue;
      const auto [at, first] = last.emplace(std::pair(event.device, event.stream), i);
      if (first) continue;
      const bool ended = work_->events[at->second].end_ns <= event.begin_ns;
      if (ended) before_[i] = at->second;
      if (event.end_ns >= work_->events[at->second].end_ns) at->second = i;
    }
  }

  // The last span of the thread that begins before at_, which only ever gets earlier.
  SpanIndex LastBefore(TrackId thread) {
    const trace::Column<int64_t>& begins = trace_.tracks[thread.value].spans.begin_ns;
    SpanIndex& begun = begun_[thread.value];
    while (begun > 0 && begins[begun - 1] >= at_) --begun;
    return begun == 0 ? kNoSpan : begun - 1;
  }

  // Just before at_: the innermost span that is open, or none.
  SpanIndex InnermostBefore(TrackId thread) {
    const trace::Spans& spans = trace_.tracks[thread.value].spans;
    SpanIndex span = LastBefore(thread);
    while (span != kNoSpan && spans.end_ns[span] < at_) span = spans.parent[span];
    return span;
  }

  // The last end of a span of the thread before at_; the window's begin where there is none.
  int64_t LastEnd(TrackId thread) {
    const trace::Spans& spans = trace_.tracks[thread.value].spans;
    int64_t last = process_.start_ns;
    SpanIndex span = LastBefore(thread);
    for (; span != kNoSpan && spans.end_ns[span] < at_; span = spans.parent[span]) {
      last = std::max(last, spans.end_ns[span]);
    }
    return last;
  }

  // Back to `to`, if that is before.
  void Back(int64_t to, PathSegment::Kind kind, TrackId track, SpanIndex span) {
    to = std::max(to, process_.start_ns);
    if (to >= at_) return;
    take_(PathSegment{to, at_, kind, track, span});
    at_ = to;
  }

  void StepOnThread() {
    const trace::Spans& spans = trace_.tracks[track_.value].spans;
    const SpanIndex span = InnermostBefore(track_);
    if (span == kNoSpan || !Runs(spans, span)) return StepOverNothing(span);
    const auto wait = waits_.find(Key(track_, span));
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

  // Whether anything but an annotation is open.
  bool Runs(const trace::Spans& spans, SpanIndex span) const {
    for (; span != kNoSpan; span = spans.parent[span]) {
      if (trace_.name(spans.name[span]).kind == trace::Kind::kSpan) return true;
    }
    return false;
  }

  // From when on the span was the innermost: the end of its last child before, or its own begin.
  int64_t OwnSince(SpanIndex span) {
    const trace::Spans& spans = trace_.tracks[track_.value].spans;
    int64_t since = spans.begin_ns[span];
    for (SpanIndex child = LastBefore(track_); child != span && child != kNoSpan;
         child = spans.parent[child]) {
      const bool own = spans.parent[child] == span && spans.end_ns[child] < at_;
      if (own) since = std::max(since, spans.end_ns[child]);
    }
    return since;
  }

  // The thread runs nothing but perhaps an annotation: to the thread that did something, or back to
  // where this one did.
  void StepOverNothing(SpanIndex annotation) {
    const bool any = annotation != kNoSpan;
    const int64_t own = any ? OwnSince(annotation) : LastEnd(track_);
    int64_t latest = own;
    TrackId thread = track_;
    for (const TrackId other : threads_) {
      if (other == track_ || !may_move()) continue;
      const trace::Spans& theirs = trace_.tracks[other.value].spans;
      const int64_t end = Runs(theirs, InnermostBefore(other)) ? at_ : LastEnd(other);
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
  const ProcessWork* work_ = nullptr;
  std::vector<TrackId> threads_;
  std::unordered_map<uint64_t, uint32_t> waits_;  // call to event
  std::vector<uint32_t> before_;                  // by event
  std::vector<SpanIndex> begun_;                  // by track: spans that begin before at_
  int64_t at_ = 0;
  TrackId track_;
  uint32_t event_ = kNoEvent;
  int moves_ = 0;
  Take take_;
};

// What a segment is of.
std::string_view NameText(const trace::Trace& trace, const PathSegment& segment) {
  if (!segment.track.valid() || segment.span == kNoSpan) return "";
  const trace::Spans& spans = trace.tracks[segment.track.value].spans;
  return trace.text(trace.name(spans.name[segment.span]).text);
}

// The layer in force, of a host segment.
trace::Layer LayerOf(const trace::Trace& trace, const PathSegment& segment) {
  const trace::Spans& spans = trace.tracks[segment.track.value].spans;
  for (SpanIndex span = segment.span; span != kNoSpan; span = spans.parent[span]) {
    const trace::Layer layer = trace.name(spans.name[span]).layer;
    if (layer != trace::Layer::kNone) return layer;
  }
  return trace::Layer::kNone;
}

// A host segment is its layer's, a device's its type's.
std::string_view LayerText(const trace::Trace& trace, const PathSegment& segment) {
  if (segment.kind == PathSegment::kUnknown) return "";
  if (segment.kind != PathSegment::kHost) return NameOf(TypeOfWork(NameText(trace, segment)));
  return trace::LayerName(LayerOf(trace, segment));
}

}  // namespace

std::vector<PathSegment> FindCriticalPath(const trace::Trace& trace, const Context& context,
                                          trace::ProcessId process) {
  std::vector<PathSegment> segments;
  Walk(trace, context, process, [&](const PathSegment& segment) {
    segments.push_back(segment);
  }).Run();
  std::reverse(segments.begin(), segments.end());
  return segments;
}

Table CriticalPathTable(const trace::Trace& trace, const Context& context) {
  Texts process, kind, layer, name;
  Integers count, total;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    struct Sum {
      PathSegment first;  // of them, in time
      int64_t count = 0, ns = 0;
    };
    std::unordered_map<uint64_t, Sum> sums;  // by kind, layer and text
    const auto add = [&](const PathSegment& segment) {
      uint64_t key = uint64_t{segment.kind} << 48;
      if (segment.track.valid() && segment.span != kNoSpan) {
        const trace::Spans& spans = trace.tracks[segment.track.value].spans;
        key |= trace.name(spans.name[segment.span]).text.value;
        if (segment.kind == PathSegment::kHost) {
          key |= static_cast<uint64_t>(LayerOf(trace, segment)) << 40;
        }
      }
      Sum& sum = sums[key];
      sum.first = segment;
      ++sum.count;
      sum.ns += segment.end_ns - segment.begin_ns;
    };
    Walk(trace, context, {p}, add).Run();
    std::vector<const Sum*> order;
    for (const auto& [key, sum] : sums) order.push_back(&sum);
    std::sort(order.begin(), order.end(), [](const Sum* a, const Sum* b) {
      return a->ns != b->ns ? a->ns > b->ns : a->first.begin_ns < b->first.begin_ns;
    });
    for (const Sum* sum : order) {
      process.push_back(context.process_label({p}));
      kind.emplace_back(kKinds[sum->first.kind]);
      layer.emplace_back(LayerText(trace, sum->first));
      name.emplace_back(NameText(trace, sum->first));
      count.push_back(sum->count);
      total.push_back(sum->ns);
    }
  }
  return MakeTable("critical_path", MakeColumn("process", process), MakeColumn("kind", kind),
                   MakeColumn("layer", layer), MakeColumn("name", name), MakeColumn("count", count),
                   MakeColumn("ns", total));
}

Table CriticalPathSegmentsTable(const trace::Trace& trace, const Context& context) {
  Texts process, kind, layer, name, track;
  Integers begin, end;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const PathSegment& segment : FindCriticalPath(trace, context, {p})) {
      process.push_back(context.process_label({p}));
      kind.emplace_back(kKinds[segment.kind]);
      layer.emplace_back(LayerText(trace, segment));
      name.emplace_back(NameText(trace, segment));
      track.push_back(segment.track.valid() ? context.track_label(segment.track) : "");
      begin.push_back(segment.begin_ns);
      end.push_back(segment.end_ns);
    }
  }
  return MakeTable("critical_path_segments", MakeColumn("process", process),
                   MakeColumn("kind", kind), MakeColumn("layer", layer), MakeColumn("name", name),
                   MakeColumn("track", track), MakeColumn("begin_ns", begin),
                   MakeColumn("end_ns", end));
}

}  // namespace crosscut::analyze
