#include "src/trace/builder.h"

#include <algorithm>
#include <numeric>

namespace crosscut::trace {
namespace {

constexpr uint64_t kSharedFlow = uint64_t{1} << 63;

uint64_t HashName(const Name& name) {
  uint64_t h = uint64_t{name.text.value} << 32 | name.probe.value;
  h ^= static_cast<uint64_t>(name.kind) << 61 ^ static_cast<uint64_t>(name.layer) << 53 ^
       static_cast<uint64_t>(name.waits) << 52;
  return h * 0x9e3779b97f4a7c15;
}

bool Same(const Name& a, const Name& b) {
  return a.text == b.text && a.kind == b.kind && a.layer == b.layer && a.waits == b.waits &&
         a.probe == b.probe;
}

// Each end of one id: an arrival belongs to the latest departure before it, or, where clocks
// disagree, to the first one.
void MatchOne(const FlowEnd* first, const FlowEnd* last, std::vector<Flow>* flows) {
  const FlowEnd* out = nullptr;
  for (const FlowEnd* end = first; end != last && out == nullptr; ++end) {
    if (end->out) out = end;
  }
  if (out == nullptr) return;
  for (const FlowEnd* end = first; end != last; ++end) {
    if (end->out) {
      out = end;
      continue;
    }
    flows->push_back({end->id, out->track, end->track, out->span, end->span, out->at_ns,
                      end->at_ns});
  }
}

void Match(std::vector<FlowEnd>* ends, std::vector<Flow>* flows) {
  std::sort(ends->begin(), ends->end(), [](const FlowEnd& a, const FlowEnd& b) {
    if (a.id != b.id) return a.id < b.id;
    if (a.at_ns != b.at_ns) return a.at_ns < b.at_ns;
    if (a.out != b.out) return a.out;
    return a.track.value < b.track.value;
  });
  for (size_t i = 0; i < ends->size();) {
    size_t j = i;
    while (j < ends->size() && (*ends)[j].id == (*ends)[i].id) ++j;
    MatchOne(ends->data() + i, ends->data() + j, flows);
    i = j;
  }
}

void SortSeries(CounterSeries* series) {
  if (std::is_sorted(series->at_ns.begin(), series->at_ns.end())) return;
  std::vector<uint32_t> order(series->at_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return series->at_ns[a] < series->at_ns[b];
  });
  CounterSeries sorted = *series;
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.at_ns[i] = series->at_ns[order[i]];
    sorted.value[i] = series->value[order[i]];
  }
  *series = std::move(sorted);
}

}  // namespace

NameId Builder::AddName(const Name& name) {
  const uint64_t hash = HashName(name);
  for (auto [at, end] = names_.equal_range(hash); at != end; ++at) {
    if (Same(trace_.names[at->second.value], name)) return at->second;
  }
  const NameId id{static_cast<uint32_t>(trace_.names.size())};
  trace_.names.push_back(name);
  names_.emplace(hash, id);
  return id;
}

ProcessId Builder::AddProcess(std::string_view key) {
  const ProcessId id{static_cast<uint32_t>(trace_.processes.size())};
  trace_.processes.emplace_back().key = Text(key);
  return id;
}

TrackBuilder& Builder::AddTrack(ProcessId process, TrackKind kind) {
  const TrackId id{static_cast<uint32_t>(tracks_.size())};
  TrackBuilder& track = tracks_.emplace_back(&trace_.names, id);
  track.track().process = process;
  track.track().kind = kind;
  return track;
}

void Builder::Count(ProcessId process, NameId name, int64_t at, int64_t value) {
  const uint64_t key = uint64_t{process.value} << 32 | name.value;
  const auto [found, added] = counters_.try_emplace(key, trace_.counters.size());
  if (added) trace_.counters.push_back({process, name, {}, {}});
  CounterSeries& series = trace_.counters[found->second];
  series.at_ns.push_back(at);
  series.value.push_back(value);
}

Trace Builder::Finish() {
  std::vector<std::vector<size_t>> tracks_of(trace_.processes.size());
  for (TrackBuilder& track : tracks_) {
    const ProcessId process = track.track().process;
    if (!track.finished_) {
      track.Finish(trace_.processes[process.value].start_ns,
                   trace_.processes[process.value].end_ns);
    }
    tracks_of[process.value].push_back(track.id().value);
  }
  MatchFlows();
  for (size_t i = 0; i < trace_.processes.size(); ++i) {
    TakeSteps(&trace_.processes[i], tracks_of[i]);
    if (!trace_.processes[i].lead.valid()) ChooseLead(&trace_.processes[i], tracks_of[i]);
  }
  for (CounterSeries& series : trace_.counters) SortSeries(&series);
  trace_.tracks.reserve(tracks_.size());
  for (TrackBuilder& track : tracks_) trace_.tracks.push_back(std::move(track.track_));
  tracks_.clear();
  return std::move(trace_);
}

void Builder::MatchFlows() {
  std::vector<std::vector<FlowEnd>> own(trace_.processes.size());
  std::vector<FlowEnd> shared;
  for (TrackBuilder& track : tracks_) {
    for (const FlowEnd& end : track.flows_) {
      auto& ends = (end.id & kSharedFlow) != 0 ? shared : own[track.track_.process.value];
      ends.push_back(end);
    }
    track.flows_ = {};
  }
  for (std::vector<FlowEnd>& ends : own) Match(&ends, &trace_.flows);
  Match(&shared, &trace_.flows);
}

// Steps and phases are spans whose names say so. A step that a gap cut in two is one step.
void Builder::TakeSteps(Process* process, const std::vector<size_t>& tracks) {
  for (size_t t : tracks) {
    const TrackBuilder& track = tracks_[t];
    const Spans& spans = track.track_.spans;
    size_t mark = 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      const Name& name = trace_.names[spans.name[i].value];
      if (name.kind == Kind::kPhase) {
        process->phases.push_back({name.text, spans.begin_ns[i], spans.end_ns[i]});
      }
      if (name.kind != Kind::kStep) continue;
      while (mark < track.steps_.size() && track.steps_[mark].span < i) ++mark;
      const bool marked = mark < track.steps_.size() && track.steps_[mark].span == i;
      Step step{static_cast<int64_t>(process->steps.size()), spans.begin_ns[i], spans.end_ns[i],
                name.text, 3, false};
      if (marked) {
        step.number = track.steps_[mark].number;
        step.level = track.steps_[mark].level;
        step.after_switch = track.steps_[mark].after_switch;
      } else if (!process->steps.empty() && process->steps.back().end_ns == step.begin_ns &&
                 !track.steps_.empty()) {
        process->steps.back().end_ns = step.end_ns;
        continue;
      }
      process->steps.push_back(step);
    }
  }
  std::stable_sort(process->steps.begin(), process->steps.end(),
                   [](const Step& a, const Step& b) { return a.begin_ns < b.begin_ns; });
  std::stable_sort(process->phases.begin(), process->phases.end(),
                   [](const Phase& a, const Phase& b) { return a.begin_ns < b.begin_ns; });
}

void Builder::ChooseLead(Process* process, const std::vector<size_t>& tracks) {
  int64_t first = INT64_MAX;
  TrackId main = TrackId::None(), any = TrackId::None();
  for (size_t t : tracks) {
    const Track& track = tracks_[t].track_;
    if (track.kind != TrackKind::kThread || track.ours) continue;
    const TrackId id{static_cast<uint32_t>(t)};
    if (!any.valid()) any = id;
    if (track.main && !main.valid()) main = id;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const Kind kind = trace_.names[track.spans.name[i].value].kind;
      if (kind != Kind::kOperation && kind != Kind::kStep) continue;
      if (track.spans.begin_ns[i] < first) {
        first = track.spans.begin_ns[i];
        process->lead = id;
      }
      break;
    }
  }
  if (!process->lead.valid()) process->lead = main.valid() ? main : any;
}

}  // namespace crosscut::trace
