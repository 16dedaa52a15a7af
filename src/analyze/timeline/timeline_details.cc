#include "src/analyze/timeline/timeline_details.h"

#include <algorithm>
#include <numeric>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/steps/step_summary.h"

namespace crosscut::analyze {
namespace {

using trace::Layer;
using Text = std::function<uint32_t(uint32_t)>;
constexpr size_t kMaxProcesses = 4;  // with details of their steps

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

Layer BaseAt(const trace::Track& track, int64_t at) {
  const auto after = std::upper_bound(track.base_at_ns.begin(), track.base_at_ns.end(), at);
  return after == track.base_at_ns.begin()
             ? Layer::kNone
             : track.base[static_cast<size_t>(after - track.base_at_ns.begin()) - 1];
}

class Excerpt {
 public:
  Excerpt(const trace::Trace& trace, uint32_t track, trace::Interval window, const Text& text)
      : trace_(trace), track_(trace.tracks[track]), window_(window), text_(text) {
    out_.track = track;
  }

  TimelineDetailTrack Make(size_t max_spans) {
    const trace::Spans& spans = track_.spans;
    size_t next = 0;
    for (const trace::SpanIndex s : OpenAt(spans, window_.begin_ns, &next)) Add(s);
    for (; next < spans.size() && spans.begin_ns[next] < window_.end_ns; ++next) Add(next);
    Shorten(max_spans);
    return std::move(out_);
  }

 private:
  void Add(size_t s) {
    const int64_t begin = track_.spans.begin_ns[s];
    while (!open_.empty() && open_.back().end_ns <= begin) open_.pop_back();
    const trace::Name& name = trace_.name(track_.spans.name[s]);
    Layer layer = name.kind == trace::Kind::kSpan ? name.layer : Layer::kNone;
    if (layer == Layer::kNone) layer = open_.empty() ? BaseAt(track_, begin) : open_.back().layer;
    const int64_t end = track_.spans.end_ns[s];
    out_.spans.push_back({std::max(begin, window_.begin_ns), std::min(end, window_.end_ns),
                          text_(track_.spans.name[s].value), static_cast<uint16_t>(open_.size()),
                          layer, name.kind});
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
    for (const uint32_t i : order) kept.push_back(spans[i]);
    spans = std::move(kept);
  }

  struct Open {
    int64_t end_ns;
    Layer layer;
  };
  const trace::Trace& trace_;
  const trace::Track& track_;
  trace::Interval window_;
  const Text& text_;
  std::vector<Open> open_;
  TimelineDetailTrack out_;
};

// Of the kind with most steps: the one of median length among those that were recorded with most,
// and the slowest, as `step_summary` has it.
void AddSteps(const Context& context, uint32_t index, std::vector<TimelineDetail>& out) {
  const trace::Process& process = context.trace().processes[index];
  const std::vector<ComparedSteps> kinds = CompareSteps(
      process, StepWalls(process, context.Shared<Accounting>().processes[index].overlap));
  const auto kind = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.steps.size() < b.steps.size();
  });
  if (kind == kinds.end() || kind->steps.empty()) return;
  uint8_t most = 1;
  for (const uint32_t s : kind->steps) most = std::max(most, process.steps[s].level);
  std::vector<uint32_t> shown;  // the shortest first
  for (const uint32_t s : kind->steps) {
    if (process.steps[s].level == most) shown.push_back(s);
  }
  const uint32_t typical = shown[shown.size() / 2], slowest = kind->steps.back();
  const auto add = [&](const trace::Step& s, const char* what) {
    out.push_back(
        {index, "step " + std::to_string(s.number) + ", " + what, s.begin_ns, s.end_ns, {}});
  };
  add(process.steps[typical], "typical");
  if (slowest != typical) add(process.steps[slowest], "slowest");
}

// A short window in the middle of the lead's spans, for processes without steps.
void AddMiddle(const trace::Trace& trace, uint32_t index, size_t max_spans,
               std::vector<TimelineDetail>& out) {
  const trace::TrackId lead = trace.processes[index].lead;
  if (lead.value >= trace.tracks.size()) return;
  const trace::Spans& spans = trace.tracks[lead.value].spans;
  if (spans.size() == 0) return;
  const size_t half = std::min(spans.size(), max_spans) / 2, mid = spans.size() / 2;
  const int64_t begin = spans.begin_ns[mid - std::min(mid, half)];
  const int64_t end = spans.begin_ns[std::min(mid + half, spans.size() - 1)];
  if (begin < end) out.push_back({index, "middle of the run", begin, end, {}});
}

std::vector<TimelineDetail> ChooseWindows(const trace::Trace& trace, const Context& context,
                                          const std::vector<std::vector<uint32_t>>& tracks,
                                          size_t max_spans) {
  std::vector<TimelineDetail> out;
  size_t spans = 0;
  for (const auto& of_process : tracks) {
    for (const uint32_t t : of_process) spans += trace.tracks[t].spans.size();
  }
  for (uint32_t p = 0; p < tracks.size() && out.size() < 2 * kMaxProcesses; ++p) {
    const trace::Process& process = trace.processes[p];
    if (tracks[p].empty() || process.start_ns >= process.end_ns) continue;
    if (spans <= max_spans) {
      out.push_back({p, "whole run", process.start_ns, process.end_ns, {}});
    } else if (!process.steps.empty()) {
      AddSteps(context, p, out);
    }
  }
  for (uint32_t p = 0; out.empty() && p < tracks.size(); ++p) {
    AddMiddle(trace, p, max_spans / 4, out);
  }
  return out;
}

}  // namespace

std::vector<TimelineDetail> MakeDetails(const trace::Trace& trace, const Context& context,
                                        const std::vector<std::vector<uint32_t>>& tracks,
                                        size_t max_spans, const Text& text) {
  std::vector<TimelineDetail> details = ChooseWindows(trace, context, tracks, max_spans);
  size_t left = max_spans;
  for (size_t d = 0; d < details.size(); ++d) {
    TimelineDetail& detail = details[d];
    const trace::Interval window = {detail.begin_ns, detail.end_ns};
    size_t share = left / (details.size() - d);
    for (const uint32_t t : tracks[detail.process]) {
      TimelineDetailTrack track = Excerpt(trace, t, window, text).Make(share);
      share -= track.spans.size();
      left -= track.spans.size();
      if (!track.spans.empty() || track.omitted > 0) detail.tracks.push_back(std::move(track));
    }
  }
  return details;
}

}  // namespace crosscut::analyze
