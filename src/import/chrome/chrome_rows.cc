#include "src/import/chrome/chrome_rows.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/base/sort_runs.h"
#include "src/trace/lanes.h"

namespace crosscut::import {
namespace {

using trace::StringId;
using trace::TrackBuilder;

constexpr int64_t kRounding = 2000;  // ns: files in whole microseconds are off by one at each end
constexpr size_t kMostLanes = 1024;  // of a row
// Spans of a thread that are open where one outlives another, and how often they may be cut, for
// each span of the row.
constexpr size_t kMostCrossing = 256, kMostCuts = 4;

// One track, and what is open on it, innermost last.
class Lane {
 public:
  explicit Lane(TrackBuilder* track) : track_(track) { track->TellsAllEnds(); }
  TrackBuilder* track() { return track_; }
  size_t open() const { return open_.size(); }

  void EndUpTo(int64_t at) {
    while (!open_.empty()) {
      const size_t next = FirstToEnd();
      if (open_[next].end > at) return;
      if (next + 1 == open_.size()) {
        track_->End(open_[next].end);
      } else {
        track_->EndAt(open_[next].end, next);
      }
      Erase(next);
    }
  }
  // Whether something that is open ends after `at`.
  bool OutlivesAny(int64_t at) const { return !open_.empty() && open_.back().last > at; }
  // The first end of what is open and may not end inside a span: annotations may, and an annotation
  // may outlive what it began in.
  int64_t Limit(bool operation) const {
    return operation || open_.empty() ? INT64_MAX : open_.back().limit;
  }
  // The first end of what is open.
  int64_t FirstEnd() const { return open_.empty() ? INT64_MAX : open_[FirstToEnd()].end; }
  // How much of what is open ends before `end`, kMostCrossing at most: a span until then is cut
  // there.
  size_t Cuts(int64_t end) const {
    size_t cuts = 0;
    const auto more = [&](int64_t one) { return one < end && cuts < kMostCrossing; };
    for (size_t i = open_.size(); i > crossed_ && more(open_[i - 1].end); --i) ++cuts;
    for (auto at = ends_.begin(); at != ends_.end() && more(at->first); ++at) ++cuts;
    return cuts;
  }
  void Begin(const ChromeSpan& span, int64_t end, bool operation) {
    const bool crosses = !open_.empty() && end > open_.back().end;
    track_->Begin(span.begin_ns, span.name);
    open_.push_back({end, begun_++, operation, 0, 0});
    SetBounds(open_.size() - 1);
    if (!crosses) return;
    for (; crossed_ < open_.size(); ++crossed_) ends_.insert(KeyOf(open_[crossed_]));
  }

 private:
  struct Open {
    int64_t end;
    uint64_t number;  // in the order of begin
    bool operation;
    int64_t limit;  // the first end of what is no operation, of this and all below
    int64_t last;   // the last end of these
  };
  // By end; of equal ones the innermost first.
  using Key = std::pair<int64_t, uint64_t>;
  static Key KeyOf(const Open& open) { return {open.end, ~open.number}; }

  size_t FirstToEnd() const {
    const size_t top = open_.size() - 1;
    if (ends_.empty() || ends_.begin()->first >= open_[top].end) return top;
    const auto at =
        std::lower_bound(open_.begin(), open_.end(), ~ends_.begin()->second,
                         [](const Open& open, uint64_t number) { return open.number < number; });
    return static_cast<size_t>(at - open_.begin());
  }
  void SetBounds(size_t i) {
    const int64_t own = open_[i].operation ? INT64_MAX : open_[i].end;
    open_[i].limit = std::min(own, i == 0 ? INT64_MAX : open_[i - 1].limit);
    open_[i].last = std::max(open_[i].end, i == 0 ? INT64_MIN : open_[i - 1].last);
  }
  void Erase(size_t at) {
    if (at < crossed_) {
      ends_.erase(KeyOf(open_[at]));
      --crossed_;
    }
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(at));
    for (size_t i = at; i < open_.size(); ++i) SetBounds(i);
  }

  TrackBuilder* track_;
  std::vector<Open> open_;
  uint64_t begun_ = 0;
  // What lies above the first so many ends in the order of the stack, the innermost first; those
  // themselves in that of `ends_`.
  size_t crossed_ = 0;
  std::set<Key> ends_;
};

class RowTracks {
 public:
  RowTracks(trace::Builder* builder, const ChromeOwner& owner, ChromeRow* row)
      : builder_(builder), owner_(owner), row_(row) {}

  ChromeRepairs Make() {
    const std::vector<ChromeSpan> spans = TakeSorted();
    apart_ = row_->place == Place::kDevice && OverlapWithoutNesting(spans);
    AddLane(spans.empty() ? owner_.process : ProcessOf(spans.front()));
    lanes_[0].track()->Reserve(spans.size());
    for (const ChromeSpan& span : spans) {
      TakeFlowsBefore(span.begin_ns);
      Put(span);
    }
    TakeFlowsBefore(INT64_MAX);
    for (Lane& lane : lanes_) lane.EndUpTo(INT64_MAX);
    for (const ChromeSpan& instant : row_->instants) {
      lanes_[0].track()->Instant(instant.begin_ns, instant.name);
      PutArgs(instant, lanes_[0].track());
    }
    *row_ = {};
    repairs_.track = lanes_[0].track()->id();
    return repairs_;
  }

 private:
  bool device() const { return row_->place != Place::kThread; }

  // The row's spans, which it has no more.
  std::vector<ChromeSpan> TakeSorted() {
    std::vector<ChromeSpan> spans;
    spans.reserve(row_->spans.size());
    for (size_t i = 0; i < row_->spans.size(); ++i) {
      spans.push_back(row_->spans[i]);
      row_->spans.Forget(i);
    }
    const auto before = [](const ChromeSpan& a, const ChromeSpan& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    };
    base::SortRuns(&spans, before);
    base::SortRuns(&row_->instants, before);
    base::SortRuns(&row_->flows,
                   [](const ChromeFlow& a, const ChromeFlow& b) { return a.at_ns < b.at_ns; });
    return spans;
  }

  trace::ProcessId ProcessOf(const ChromeSpan& span) const {
    return owner_.of_span ? owner_.of_span(span) : owner_.process;
  }

  std::vector<size_t>& LanesOf(trace::ProcessId process) {
    if (last_.second == nullptr || last_.first != process.value) {
      last_ = {process.value, &lanes_of_[process.value]};
    }
    return *last_.second;
  }

  void AddLane(trace::ProcessId process) {
    TrackBuilder& track = builder_->AddTrack(
        process, device() ? trace::TrackKind::kDevice : trace::TrackKind::kThread);
    std::vector<size_t>& beside = LanesOf(process);
    beside.push_back(lanes_.size());
    const size_t number = beside.size();
    lanes_.emplace_back(&track);
    track.track().args = row_->args.LikeThese();
    if (!row_->instants.empty()) track.track().instant_args = row_->args.LikeThese();
    track.track().os_id = row_->os_id;
    track.track().file_pid = row_->file_pid;
    track.track().file_tid = row_->file_tid;
    track.track().file_row = row_->file_row;
    track.track().device = device() ? row_->device : -1;
    track.track().main = !device() && number == 1 && row_->os_id == owner_.pid;
    std::string name(builder_->trace().text(row_->name));
    if (row_->place == Place::kAnnotation) name += name.empty() ? "annotations" : " (annotations)";
    if (row_->place == Place::kSync) name += name.empty() ? "waits" : " (waits)";
    if (number > 1 && !name.empty()) name += " (" + std::to_string(number) + ")";
    if (!name.empty()) track.track().name = builder_->Text(name);
  }

  void Put(const ChromeSpan& span) {
    const bool operation =
        builder_->trace().name(span.name).kind == trace::Kind::kOperation && !device();
    Lane* lane = LaneFor(span, operation);
    const int64_t limit = lane->Limit(operation), stated = span.end_ns;
    int64_t end = EndOn(*lane, span, operation);
    const bool fits = MayCross(*lane, end);
    repairs_.rounded += fits && end < stated ? 1 : 0;
    if (!fits) end = std::min(end, lane->FirstEnd());
    repairs_.outlive += fits && end > limit ? 1 : 0;
    repairs_.beside += !device() && lane != lanes_.data() ? 1 : 0;
    repairs_.cut_off += fits ? 0 : 1;
    cuts_ += lane->Cuts(end);
    const bool cut = lane->Cuts(stated) > 0;
    lane->Begin(span, end, operation);
    if (cut) lane->track()->StateEnd(stated);
    PutArgs(span, lane->track());
  }

  // By rounding it may end with what is around it.
  int64_t EndOn(const Lane& lane, const ChromeSpan& span, bool operation) const {
    const int64_t limit = lane.Limit(operation);
    const bool rounded = !device() && span.end_ns > limit && span.end_ns - limit <= kRounding;
    return rounded ? limit : span.end_ns;
  }

  // Of any one process.
  bool OverlapWithoutNesting(const std::vector<ChromeSpan>& spans) const {
    std::unordered_map<uint32_t, trace::Crossing> crossings;
    for (const ChromeSpan& span : spans) {
      crossings[ProcessOf(span).value].Add(span.begin_ns, span.end_ns);
    }
    return std::any_of(crossings.begin(), crossings.end(),
                       [](const auto& crossing) { return crossing.second.any(); });
  }

  // What is begun now and ends then. A thread runs what it began last.
  bool MayCross(const Lane& lane, int64_t end) const {
    if (apart_) return lane.open() == 0;
    if (end <= lane.FirstEnd()) return true;
    return !device() && lane.open() < kMostCrossing &&
           cuts_ + lane.Cuts(end) < kMostCrossing + kMostCuts * row_->spans.size();
  }

  // The first lane in which the span nests, or that lets it outlive what it began in.
  Lane* LaneFor(const ChromeSpan& span, bool operation) {
    const trace::ProcessId process = ProcessOf(span);
    Lane* last = nullptr;
    for (const size_t i : LanesOf(process)) {
      Lane& lane = lanes_[i];
      lane.EndUpTo(span.begin_ns);
      if (MayCross(lane, EndOn(lane, span, operation))) return &lane;
      last = &lane;
    }
    if (last != nullptr && lanes_.size() >= kMostLanes) return last;
    AddLane(process);
    return &lanes_.back();
  }

  void PutArgs(const ChromeSpan& span, TrackBuilder* track) {
    const trace::Arg correlation =
        row_->args.Find(span.owner, row_->of_plane ? correlation_of_plane_ : correlation_);
    if (!correlation.is_text && correlation.value > 0) {
      const uint64_t id = (static_cast<uint64_t>(correlation.value) & ~kFlowBits) | kLaunchFlows;
      if (row_->place == Place::kDevice) track->FlowIn(span.begin_ns, id);
      if (row_->place == Place::kThread) track->FlowOut(span.begin_ns, id);
    }
    track->TakeArgs(&row_->args, span.owner);
  }

  void TakeFlowsBefore(int64_t at) {
    for (; flow_ < row_->flows.size() && row_->flows[flow_].at_ns < at; ++flow_) {
      const ChromeFlow& flow = row_->flows[flow_];
      // An arrow may leave at the very end of what nothing is around.
      lanes_[0].EndUpTo(lanes_[0].OutlivesAny(flow.at_ns) ? flow.at_ns : flow.at_ns - 1);
      if (flow.out) {
        lanes_[0].track()->FlowOut(flow.at_ns, flow.id);
      } else {
        lanes_[0].track()->FlowIn(flow.at_ns, flow.id);
      }
    }
  }

  trace::Builder* builder_;
  const ChromeOwner& owner_;
  ChromeRow* row_;
  ChromeRepairs repairs_;
  std::vector<Lane> lanes_;
  std::unordered_map<uint32_t, std::vector<size_t>> lanes_of_;              // by process
  std::pair<uint32_t, std::vector<size_t>*> last_ = {UINT32_MAX, nullptr};  // asked of these
  bool apart_ = false;  // none of the row's work lies in other work
  size_t cuts_ = 0;
  size_t flow_ = 0;
  StringId correlation_ = builder_->Text("correlation"),
           correlation_of_plane_ = builder_->Text("correlation_id");
};

}  // namespace

ChromeRepairs MakeTracksOf(trace::Builder* builder, const ChromeOwner& owner, ChromeRow* row) {
  return RowTracks(builder, owner, row).Make();
}

}  // namespace crosscut::import
