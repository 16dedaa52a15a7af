#include "src/analyze/timeline/timeline_tiles.h"

#include <algorithm>
#include <limits>

#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using trace::Kind;
using trace::Layer;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Time by number, cleared by what was touched.
class Largest {
 public:
  explicit Largest(size_t n) : ns_(n) {}
  void Add(uint32_t what, int64_t ns) {
    if (what == kNoText) return;
    if (ns_[what] == 0) touched_.push_back(what);
    ns_[what] += ns;
  }
  void Take(uint32_t* what, int64_t* ns) {
    for (const uint32_t t : touched_) {
      if (ns_[t] > *ns) *what = t, *ns = ns_[t];
      ns_[t] = 0;
    }
    touched_.clear();
  }

 private:
  std::vector<int64_t> ns_;
  std::vector<uint32_t> touched_;
};

class Cutter {
 public:
  Cutter(size_t names, trace::Interval window, int64_t tile_ns)
      : begin_ns_(window.begin_ns),
        end_ns_(window.end_ns),
        tile_ns_(tile_ns),
        tile_end_ns_(window.begin_ns),
        names_(names),
        operations_(names) {}

  // The state of [from, until), in order of time.
  void Add(int64_t from, int64_t until, uint32_t name, uint32_t operation, Layer layer) {
    from = std::max(from, begin_ns_);
    until = std::min(until, end_ns_);  // whatever a span says, tiles are no more than asked for
    while (from < until) {
      GoTo(from);
      const int64_t ns = std::min(until, tile_end_ns_) - from;
      if (layer != Layer::kNone) tile_.layer_ns[static_cast<size_t>(layer)] += ns;
      names_.Add(name, ns);
      operations_.Add(operation, ns);
      from += ns;
    }
  }
  void CountSpan(int64_t at) {
    if (at < begin_ns_) return;
    GoTo(std::max(begin_ns_, std::min(at, end_ns_ - 1)));
    ++tile_.spans;
  }
  std::vector<RawTile> Finish() {
    Close();
    return std::move(tiles_);
  }

 private:
  void GoTo(int64_t at) {
    if (at < tile_end_ns_) return;
    const auto index = static_cast<uint32_t>((at - begin_ns_) / tile_ns_);
    tile_end_ns_ = begin_ns_ + (int64_t{index} + 1) * tile_ns_;
    if (index == tile_.index) return;
    Close();
    tile_.index = index;
  }
  void Close() {
    names_.Take(&tile_.name, &tile_.name_ns);
    operations_.Take(&tile_.operation, &tile_.operation_ns);
    const bool any = tile_.spans > 0 || tile_.name != kNoText ||
                     std::any_of(tile_.layer_ns.begin(), tile_.layer_ns.end(),
                                 [](int64_t ns) { return ns > 0; });
    if (any) tiles_.push_back(tile_);
    tile_ = {};
  }

  int64_t begin_ns_, end_ns_, tile_ns_;
  int64_t tile_end_ns_;  // of the tile at hand; the begin of all where there is none yet
  Largest names_, operations_;
  RawTile tile_;
  std::vector<RawTile> tiles_;
};

struct Open {
  int64_t end_ns;
  uint32_t name, operation;
  Layer layer;  // in force in it
};

class Walk {
 public:
  Walk(const trace::Trace& trace, const trace::Track& track,
       const std::vector<ProcessEvents::Off>& off, Cutter& cutter)
      : trace_(trace),
        track_(track),
        off_(off),
        cutter_(cutter),
        at_(track.begin_ns),
        end_(track.end_ns),
        open_{{kNever, kNoText, kNoText, Layer::kNone}} {}

  void Run() {
    const trace::Spans& spans = track_.spans;
    size_t next = 0, base = 0;
    while (true) {
      const int64_t begin = next < spans.size() ? spans.begin_ns[next] : kNever;
      const int64_t change = base < track_.base.size() ? track_.base_at_ns[base] : kNever;
      const int64_t end = open_.back().end_ns;
      const int64_t at = std::min({begin, change, end});
      if (at == kNever) break;
      Until(at);
      if (end == at) {
        open_.pop_back();
      } else if (change == at) {
        open_[0].layer = track_.base[base++];
        for (size_t i = 1; i < open_.size(); ++i) open_[i].layer = Inside(i);
      } else {
        Push(next++);
        cutter_.CountSpan(at);
      }
    }
    Until(end_);
  }

 private:
  void Until(int64_t at) {
    if (track_.kind == trace::TrackKind::kThread) at = std::min(at, end_);
    if (at <= at_) return;
    while (at_ < at) {
      while (next_off_ < off_.size() && off_[next_off_].end_ns <= at_) ++next_off_;
      const ProcessEvents::Off off =
          next_off_ < off_.size() ? off_[next_off_] : ProcessEvents::Off{at, at, false};
      if (off.begin_ns <= at_) {
        const int64_t until = std::min(off.end_ns, at);
        const Open& mark = open_[off.marks ? open_.size() - 1 : 0];
        cutter_.Add(at_, until, mark.name, mark.operation, Layer::kControl);
        at_ = until;
      } else {
        const int64_t until = std::min(off.begin_ns, at);
        cutter_.Add(at_, until, open_.back().name, open_.back().operation, open_.back().layer);
        at_ = until;
      }
    }
  }
  void Push(size_t span) {
    const trace::Name& name = trace_.name(track_.spans.name[span]);
    Open& inside = open_.emplace_back();
    const Open& around = open_[open_.size() - 2];
    inside.end_ns = std::min(track_.spans.end_ns[span], around.end_ns);
    inside.name = track_.spans.name[span].value;
    inside.operation = name.kind == Kind::kOperation ? inside.name : around.operation;
    inside.layer = Inside(open_.size() - 1);
  }
  Layer Inside(size_t depth) const {
    const trace::Name& name = trace_.name(trace::NameId{open_[depth].name});
    return trace::LayerInside(track_, name, open_[depth - 1].layer);
  }

  const trace::Trace& trace_;
  const trace::Track& track_;
  const std::vector<ProcessEvents::Off>& off_;
  Cutter& cutter_;
  size_t next_off_ = 0;
  int64_t at_, end_;
  std::vector<Open> open_;
};

bool LooksLike(const TimelineTile& a, const TimelineTile& b) {
  return a.index + a.count == b.index && a.name == b.name && a.operation == b.operation &&
         a.share == b.share;
}

}  // namespace

std::vector<RawTile> CutTrack(const trace::Trace& trace, const trace::Track& track,
                              const std::vector<ProcessEvents::Off>& off, trace::Interval window,
                              int64_t tile_ns) {
  static const std::vector<ProcessEvents::Off> kNone;
  const bool probed = track.kind == trace::TrackKind::kThread && !track.ours;
  Cutter cutter(trace.names.size(), window, tile_ns);
  Walk(trace, track, probed ? off : kNone, cutter).Run();
  return cutter.Finish();
}

std::vector<RawTile> Coarsen(const std::vector<RawTile>& fine) {
  std::vector<RawTile> out;
  for (size_t i = 0; i < fine.size();) {
    RawTile tile;
    tile.index = fine[i].index / 4;
    size_t end = i;
    while (end < fine.size() && fine[end].index / 4 == tile.index) ++end;
    for (size_t k = i; k < end; ++k) {
      tile.spans += fine[k].spans;
      for (size_t l = 0; l < tile.layer_ns.size(); ++l) tile.layer_ns[l] += fine[k].layer_ns[l];
      int64_t name_ns = 0, operation_ns = 0;
      for (size_t j = i; j < end; ++j) {
        if (fine[j].name == fine[k].name) name_ns += fine[j].name_ns;
        if (fine[j].operation == fine[k].operation) operation_ns += fine[j].operation_ns;
      }
      if (name_ns > tile.name_ns) tile.name = fine[k].name, tile.name_ns = name_ns;
      if (operation_ns > tile.operation_ns) {
        tile.operation = fine[k].operation, tile.operation_ns = operation_ns;
      }
    }
    out.push_back(tile);
    i = end;
  }
  return out;
}

std::vector<TimelineTile> Pack(const std::vector<RawTile>& raw, int64_t tile_ns,
                               const std::function<uint32_t(uint32_t)>& text) {
  std::vector<TimelineTile> out;
  for (const RawTile& r : raw) {
    TimelineTile tile = {r.index, 1, text(r.name), text(r.operation), r.spans, {}};
    for (size_t l = 0; l < tile.share.size(); ++l) {
      const double share = static_cast<double>(r.layer_ns[l]) / static_cast<double>(tile_ns);
      tile.share[l] = static_cast<uint8_t>(std::min(255.0, share * 255));
    }
    if (!out.empty() && LooksLike(out.back(), tile)) {
      ++out.back().count;
      out.back().spans += tile.spans;
    } else {
      out.push_back(tile);
    }
  }
  return out;
}

}  // namespace crosscut::analyze
