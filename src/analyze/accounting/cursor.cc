#include "src/analyze/accounting/cursor.h"

#include <algorithm>
#include <limits>

namespace crosscut::analyze {
namespace {

using trace::Layer;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

constexpr int kOverheadNumber = kActive - 1;

int ActiveNumber(Layer layer) {
  if (layer >= Layer::kPython && layer <= Layer::kNative) return static_cast<int>(layer) - 1;
  return layer == Layer::kOverhead ? kOverheadNumber : -1;
}

// The active layer of a resource of a host thread, or -1.
int LayerOf(Resource r) { return r >= kOwn && r < kBusy ? (r - kOwn) % kActive : -1; }

Resource Inside(Role role, uint8_t code, Resource below) {
  const auto layer = static_cast<Layer>(code & kCodeLayer);
  if (role == Role::kDevice) {
    if (!(code & kCodeWork)) return below;
    return layer == Layer::kIdle ? kAbsent : kBusy;
  }
  if (role == Role::kAsync) {  // nobody's stack: what has no layer adds nothing
    const int active = ActiveNumber(layer);
    return active < 0 ? below : static_cast<Resource>(kOwn + active);
  }
  if (LayerOf(below) == kOverheadNumber) {  // what our own work calls is ours, too
    return role == Role::kThread ? kWorking + kOverheadNumber : below;
  }
  if (layer == Layer::kIdle) return kBlocked;
  const bool waits = role == Role::kLead && (code & kCodeWaits);
  int active = ActiveNumber(layer);
  if (active < 0) {  // keeps what is below, or waits in it
    active = LayerOf(below);
    if (active < 0 || (role == Role::kLead && !waits)) return below;
  }
  const Resource first = role == Role::kThread ? kWorking : waits ? kWaiting : kOwn;
  return static_cast<Resource>(first + active);
}

struct Moves {
  uint8_t to[4][kCodes][kResources];
  Moves() {
    for (int role = 0; role < 4; ++role) {
      for (int code = 0; code < kCodes; ++code) {
        for (int below = 0; below < kResources; ++below) {
          to[role][code][below] = Inside(static_cast<Role>(role), static_cast<uint8_t>(code),
                                         static_cast<Resource>(below));
        }
      }
    }
  }
};

Resource BaseResource(Layer base) {
  if (base == Layer::kIdle) return kBlocked;
  const int active = ActiveNumber(base);
  return active < 0 ? kUnknown : static_cast<Resource>(kOwn + active);
}

}  // namespace

Layer ActiveLayer(int active) {
  return active == kOverheadNumber ? Layer::kOverhead : static_cast<Layer>(active + 1);
}

TrackCursor::TrackCursor(const trace::Track& track, const NameCodes& names, Role role,
                         trace::Interval window)
    : track_(track),
      codes_(names.codes.data()),
      lead_(role == Role::kLead),
      life_begin_(window.begin_ns),
      life_end_(window.end_ns),
      open_(4) {
  static const Moves kMoves;
  moves_ = kMoves.to[static_cast<int>(role)];
  const bool thread = role == Role::kLead || role == Role::kThread;
  if (thread) {
    life_begin_ = std::max(life_begin_, track.begin_ns);
    life_end_ = std::min(life_end_, track.end_ns);
  }
  open_[0] = {kNever, 0, 0, thread ? kUnknown : kAbsent, 0};
  if (role == Role::kDevice) {
    next_base_ = track.base.size();
    next_instant_ = track.instants.name.size();
  }
  ended_ = life_begin_ >= life_end_;
}

int64_t TrackCursor::Peek(size_t quota) const {
  const auto& begins = track_.spans.begin_ns;
  const auto& marks = track_.instants.at_ns;
  if (ended_) return kNever;
  const int64_t begin = next_ + quota < begins.size() ? begins[next_ + quota] : kNever;
  const size_t mark = next_instant_ + quota;
  return mark < marks.size() ? std::min(begin, marks[mark]) : begin;
}

void TrackCursor::Tell(int64_t at, int64_t from, uint8_t probe, Records& out) {
  const Open& top = open_[depth_];
  if (top.resource != told_ || probe != 0) {
    out.Add(at - from, MoveChange(told_, top.resource, probe, lead_));
    told_ = top.resource;
  }
  if (lead_ && top.operation != told_operation_) {
    out.Add(at - from, SetChange(What::kOperation, top.operation));
    told_operation_ = top.operation;
  }
  if (lead_ && top.part != told_part_) {
    out.Add(at - from, SetChange(What::kPart, top.part));
    told_part_ = top.part;
  }
}

void TrackCursor::Push(size_t span) {
  const NameCode name = codes_[track_.spans.name[span].value];
  const Open& parent = open_[depth_];
  const Open inside = {std::min(track_.spans.end_ns[span], parent.end_ns),
                       name.operation() != 0 ? name.operation() : parent.operation,
                       name.scope != 0 ? name.found() : parent.part,
                       moves_[name.code][parent.resource], name.code};
  if (++depth_ == open_.size()) open_.resize(2 * depth_);
  open_[depth_] = inside;
}

// The next instant that cost something to record.
int64_t TrackCursor::NextMark() {
  const trace::Instants& instants = track_.instants;
  while (next_instant_ < instants.name.size() &&
         codes_[instants.name[next_instant_].value].probe == 0) {
    ++next_instant_;
  }
  return next_instant_ < instants.at_ns.size() ? instants.at_ns[next_instant_] : kNever;
}

void TrackCursor::ChangeBase() {
  open_[0].resource = BaseResource(track_.base[next_base_++]);
  for (size_t i = 1; i <= depth_; ++i) {
    open_[i].resource = moves_[open_[i].code][open_[i - 1].resource];
  }
}

template <bool kQuiet>
void TrackCursor::RunSpans(int64_t limit, int64_t from, Records& out) {
  const auto& begins = track_.spans.begin_ns;
  const size_t n = begins.size();
  int64_t begin = next_ < n ? begins[next_] : kNever;
  while (true) {
    const int64_t end = open_[depth_].end_ns;
    if (end <= begin) {
      if (end >= limit) return;
      --depth_;
      if (!kQuiet) Tell(end, from, 0, out);
    } else {
      if (begin >= limit) return;
      Push(next_);
      if (!kQuiet) Tell(begin, from, codes_[track_.spans.name[next_].value].probe, out);
      begin = ++next_ < n ? begins[next_] : kNever;
    }
  }
}

template <bool kQuiet>
void TrackCursor::Run(int64_t limit, int64_t from, Records& out) {
  while (true) {
    const int64_t base = next_base_ < track_.base.size() ? track_.base_at_ns[next_base_] : kNever;
    const int64_t mark = NextMark();
    const int64_t at = std::min(base, mark);
    if (at >= limit) break;
    RunSpans<kQuiet>(at, from, out);
    uint8_t probe = 0;
    if (base <= mark) {
      ChangeBase();
    } else {
      probe = codes_[track_.instants.name[next_instant_++].value].probe;
    }
    if (!kQuiet) Tell(std::max(at, from), from, probe, out);
  }
  RunSpans<kQuiet>(limit, from, out);
}

void TrackCursor::Start(int64_t from, Records& out) {
  Run<true>(life_begin_, from, out);
  started_ = true;
  // A base named at the thread's first instant holds from there.
  while (next_base_ < track_.base.size() && track_.base_at_ns[next_base_] <= life_begin_) {
    ChangeBase();
  }
  Tell(life_begin_, from, 0, out);
}

void TrackCursor::Emit(int64_t from, int64_t until, Records& out) {
  if (ended_ || life_begin_ >= until) return;
  if (!started_) Start(from, out);
  Run<false>(std::min(until, life_end_), from, out);
  if (life_end_ < until) {
    open_[0] = {kNever, 0, 0, kAbsent, 0};
    depth_ = 0;
    ended_ = true;
    Tell(life_end_, from, 0, out);
  }
  out.EndRun();
}

}  // namespace crosscut::analyze
