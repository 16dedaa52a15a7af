#include "src/analyze/timeline/timeline_details.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/analyze/timeline/timeline_steps.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

using trace::Layer;
using Tracks = std::vector<std::vector<uint32_t>>;
constexpr size_t kMaxProcesses = 4;  // with details of their steps
constexpr size_t kMaxSteps = 40;
constexpr size_t kStepShare = 5;  // a step has at most this part of all kept spans

// The spans that are open at `begin`, outermost first, and the index of the first that begins then.
std::vector<trace::SpanIndex> OpenAt(const trace::Spans& spans, int64_t begin, size_t* first) {
  const auto at = std::lower_bound(spans.begin_ns.begin(), spans.begin_ns.end(), begin);
  *first = static_cast<size_t>(at - spans.begin_ns.begin());
  std::vector<trace::SpanIndex> open;
  if (*first == 0) return open;
  for (auto s = static_cast<trace::SpanIndex>(*first - 1); s != trace::kNoSpan;
       s = spans.parent[s]) {
    if (spans.end_ns[s] > begin) open.push_back(s);
  }
  std::reverse(open.begin(), open.end());
  return open;
}

class Excerpt {
 public:
  Excerpt(const trace::Trace& trace, uint32_t track, trace::Interval window, TimelineTexts& texts)
      : trace_(trace), track_(trace.tracks[track]), window_(window), texts_(texts) {
    out_.track = track;
  }

  TimelineDetailTrack Make(size_t max_spans) {
    const trace::Spans& spans = track_.spans;
    size_t next = 0;
    for (const trace::SpanIndex s : OpenAt(spans, window_.begin_ns, &next)) Add(s);
    for (; next < spans.size() && spans.begin_ns[next] < window_.end_ns; ++next) Add(next);
    Shorten(max_spans);
    for (size_t i = 0; i < sources_.size(); ++i) {
      out_.spans[i].args = texts_.ArgsOf(track_, sources_[i]);
    }
    return std::move(out_);
  }
  // Of the spans that Make() returned: their indices in the track.
  const std::vector<trace::SpanIndex>& sources() const { return sources_; }

 private:
  void Add(size_t s) {
    const int64_t begin = track_.spans.begin_ns[s];
    while (!open_.empty() && open_.back().end_ns <= begin) open_.pop_back();
    const trace::Name& name = trace_.name(track_.spans.name[s]);
    const Layer below = open_.empty() ? trace::BaseAt(track_, begin) : open_.back().layer;
    const Layer layer = trace::LayerInside(track_, name, below);
    const size_t depth = std::min<size_t>(open_.size(), UINT16_MAX);
    const int64_t end = track_.spans.end_ns[s];
    out_.spans.push_back({std::max(begin, window_.begin_ns), std::min(end, window_.end_ns),
                          texts_.OfName(track_.spans.name[s].value), static_cast<uint16_t>(depth),
                          layer, name.kind, kNoText, name.called_at});
    sources_.push_back(static_cast<trace::SpanIndex>(s));
    open_.push_back({end, layer});
  }

  // Keeps the longest, in order.
  void Shorten(size_t max_spans) {
    std::vector<TimelineSpan>& spans = out_.spans;
    if (spans.size() <= max_spans) return;
    out_.omitted = spans.size() - max_spans;
    std::vector<uint32_t> order(spans.size());
    std::iota(order.begin(), order.end(), 0);
    const auto length = [&](uint32_t i) { return spans[i].end_ns - spans[i].begin_ns; };
    std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(max_spans), order.end(),
                     [&](uint32_t a, uint32_t b) {
                       return length(a) != length(b) ? length(a) > length(b) : a < b;
                     });
    order.resize(max_spans);
    std::sort(order.begin(), order.end());
    std::vector<TimelineSpan> kept;
    std::vector<trace::SpanIndex> sources;
    for (const uint32_t i : order) {
      kept.push_back(spans[i]);
      sources.push_back(sources_[i]);
    }
    spans = std::move(kept);
    sources_ = std::move(sources);
  }

  struct Open {
    int64_t end_ns;
    Layer layer;
  };
  const trace::Trace& trace_;
  const trace::Track& track_;
  trace::Interval window_;
  TimelineTexts& texts_;
  std::vector<Open> open_;
  std::vector<trace::SpanIndex> sources_;
  TimelineDetailTrack out_;
};

struct Window {
  TimelineDetail detail;
  size_t max_spans;
};

size_t SpansIn(const trace::Trace& trace, const std::vector<uint32_t>& tracks,
               trace::Interval window) {
  size_t spans = 0;
  for (const uint32_t t : tracks) {
    const auto& begin = trace.tracks[t].spans.begin_ns;
    const auto first = std::lower_bound(begin.begin(), begin.end(), window.begin_ns);
    spans += static_cast<size_t>(std::lower_bound(first, begin.end(), window.end_ns) - first);
  }
  return spans;
}

// The steps that are worth most, in turn of each process, as long as there is room. Those that were
// asked for may fill it; the first few are cut to their share; the others need room for all spans.
std::vector<Window> ChooseSteps(const Context& context, const Tracks& tracks,
                                const TimelineOptions& options) {
  const trace::Trace& trace = context.trace();
  std::vector<std::pair<uint32_t, std::vector<KeptStep>>> ranked;
  size_t longest = 0;
  for (uint32_t p = 0; p < tracks.size() && ranked.size() < kMaxProcesses; ++p) {
    if (tracks[p].empty() || trace.processes[p].steps.empty()) continue;
    ranked.emplace_back(p, RankSteps(context, p, options.steps));
    longest = std::max(longest, ranked.back().second.size());
  }
  std::vector<Window> out;
  size_t left = options.max_detail_spans;
  for (size_t rank = 0; rank < longest; ++rank) {
    for (const auto& [p, steps] : ranked) {
      if (rank >= steps.size() || out.size() >= kMaxSteps) continue;
      const KeptStep& kept = steps[rank];
      const trace::Step& s = trace.processes[p].steps[kept.step];
      const size_t spans = SpansIn(trace, tracks[p], {s.begin_ns, s.end_ns});
      const size_t most = std::min(left, kept.asked ? left : options.max_detail_spans / kStepShare);
      if (spans > most && !kept.asked && out.size() >= kStepShare) continue;
      out.push_back({{p, kept.title, s.begin_ns, s.end_ns, {}}, most});
      left -= std::min(left, std::min(spans, most));
    }
  }
  return out;
}

// A short window in the middle of the lead's spans, for processes without steps.
void AddMiddle(const trace::Trace& trace, uint32_t index, size_t max_spans,
               std::vector<Window>& out) {
  const trace::TrackId lead = trace.processes[index].lead;
  if (lead.value >= trace.tracks.size()) return;
  const trace::Spans& spans = trace.tracks[lead.value].spans;
  if (spans.size() == 0) return;
  const size_t half = std::min(spans.size(), max_spans) / 2, mid = spans.size() / 2;
  const int64_t begin = spans.begin_ns[mid - std::min(mid, half)];
  const int64_t end = spans.begin_ns[std::min(mid + half, spans.size() - 1)];
  if (begin < end) out.push_back({{index, "middle of the run", begin, end, {}}, max_spans});
}

std::vector<Window> ChooseWindows(const Context& context, const Tracks& tracks,
                                  const TimelineOptions& options) {
  const trace::Trace& trace = context.trace();
  std::vector<Window> out;
  size_t spans = 0;
  for (const auto& of_process : tracks) {
    for (const uint32_t t : of_process) spans += trace.tracks[t].spans.size();
  }
  if (spans > options.max_detail_spans) out = ChooseSteps(context, tracks, options);
  for (uint32_t p = 0; p < tracks.size() && spans <= options.max_detail_spans; ++p) {
    const trace::Process& process = trace.processes[p];
    if (tracks[p].empty() || process.start_ns >= process.end_ns) continue;
    out.push_back({{p, "whole run", process.start_ns, process.end_ns, {}}, spans + tracks.size()});
  }
  for (uint32_t p = 0; out.empty() && p < tracks.size(); ++p) {
    AddMiddle(trace, p, options.max_detail_spans / 4, out);
  }
  return out;
}

// Kept spans by track and index.
using Kept = std::unordered_map<uint64_t, uint32_t>;

uint64_t KeyOf(uint32_t track, trace::SpanIndex span) { return uint64_t{track} << 32 | span; }

void AddFlows(const trace::Trace& trace, const Kept& kept, size_t max_flows, Timeline& timeline) {
  const auto number = [&](trace::TrackId track, trace::SpanIndex span) {
    const auto at = kept.find(KeyOf(track.value, span));
    return at == kept.end() ? kNoText : at->second;
  };
  for (const trace::Flow& flow : trace.flows) {
    const TimelineFlow arrow = {number(flow.from_track, flow.from), number(flow.to_track, flow.to)};
    if (arrow.from == kNoText && arrow.to == kNoText) continue;
    if (timeline.flows.size() < max_flows) {
      timeline.flows.push_back(arrow);
    } else {
      ++timeline.omitted_flows;
    }
  }
}

}  // namespace

void AddDetails(const Context& context, const Tracks& tracks, const TimelineOptions& options,
                TimelineTexts& texts, Timeline& timeline) {
  const trace::Trace& trace = context.trace();
  Kept kept;
  uint32_t number = 0;
  for (Window& window : ChooseWindows(context, tracks, options)) {
    TimelineDetail& detail = window.detail;
    size_t left = std::min<size_t>(window.max_spans, options.max_detail_spans - number);
    for (const uint32_t t : tracks[detail.process]) {
      Excerpt excerpt(trace, t, {detail.begin_ns, detail.end_ns}, texts);
      TimelineDetailTrack track = excerpt.Make(left);
      if (track.spans.empty() && track.omitted == 0) continue;
      left -= track.spans.size();
      for (const trace::SpanIndex s : excerpt.sources()) kept.emplace(KeyOf(t, s), number++);
      detail.tracks.push_back(std::move(track));
    }
    timeline.details.push_back(std::move(detail));
  }
  AddFlows(trace, kept, options.max_flows, timeline);
}

}  // namespace crosscut::analyze
