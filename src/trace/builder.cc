#include "src/trace/builder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "src/base/counted.h"
#include "src/base/sort_runs.h"
#include "src/trace/found.h"

namespace crosscut::trace {
namespace {

constexpr uint64_t kSharedFlow = uint64_t{1} << 63;

bool IsShared(const FlowEnd& end) { return (end.id & kSharedFlow) != 0; }

// In order, none within another or beside it.
void JoinPauses(std::vector<Interval>* pauses) {
  std::sort(pauses->begin(), pauses->end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> joined;
  for (const Interval& pause : *pauses) {
    if (pause.end_ns <= pause.begin_ns) continue;
    if (joined.empty() || joined.back().end_ns < pause.begin_ns) {
      joined.push_back(pause);
    } else {
      joined.back().end_ns = std::max(joined.back().end_ns, pause.end_ns);
    }
  }
  *pauses = std::move(joined);
}

uint64_t HashName(const Name& name) {
  uint64_t h = uint64_t{name.text.value} << 32 | name.probe.value;
  h ^= static_cast<uint64_t>(name.kind) << 61 ^ static_cast<uint64_t>(name.layer) << 53 ^
       static_cast<uint64_t>(name.waits) << 52 ^ static_cast<uint64_t>(name.called_at) << 20 ^
       static_cast<uint64_t>(name.found) << 11 ^ static_cast<uint64_t>(name.crosses) << 10 ^
       uint64_t { name.overload.value } << 12 ^ uint64_t { name.category.value } << 33;
  return h * 0x9e3779b97f4a7c15;
}

bool Same(const Name& a, const Name& b) {
  return a.text == b.text && a.kind == b.kind && a.layer == b.layer && a.waits == b.waits &&
         a.probe == b.probe && a.called_at == b.called_at && a.overload == b.overload &&
         a.found == b.found && a.category == b.category && a.crosses == b.crosses;
}

// Each end of one id: an arrival belongs to the latest departure before it, or, where clocks
// disagree, to the first one. How many belong to none; adds to `*repeated` the departures that have
// another between them and an arrival.
uint64_t MatchOne(std::span<const FlowEnd> ends, std::vector<Flow>* flows, uint64_t* repeated) {
  const auto first = std::find_if(ends.begin(), ends.end(), [](const FlowEnd& e) { return e.out; });
  if (first == ends.end()) return ends.size();
  const FlowEnd* out = &*first;
  uint64_t dangling = 0, passed = 0;
  bool arrived = true;  // somebody, from the departure at hand
  for (const FlowEnd& end : ends) {
    if (end.out) {
      dangling += arrived ? 0 : 1;
      passed += arrived ? 0 : 1;
      out = &end;
      arrived = &end == &*first && first != ends.begin();
      continue;
    }
    arrived = true;
    *repeated += std::exchange(passed, 0);
    flows->push_back({end.id, out->track, end.track, out->span, end.span, out->at_ns, end.at_ns});
  }
  return dangling + (arrived ? 0 : 1);
}

void SortSeries(CounterSeries* series) {
  if (std::is_sorted(series->at_ns.begin(), series->at_ns.end())) return;
  std::vector<uint32_t> order(series->at_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return series->at_ns[a] < series->at_ns[b]; });
  CounterSeries sorted = *series;
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.at_ns[i] = series->at_ns[order[i]];
    sorted.value[i] = series->value[order[i]];
  }
  *series = std::move(sorted);
}

// When the first operation of a thread begins: that the program declares; that was found before it.
struct Firsts {
  int64_t declared_ns = INT64_MAX, found_ns = INT64_MAX;
};
Firsts FirstsOf(const Track& track, const std::vector<Name>& names) {
  Firsts firsts;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    const Name& name = names[track.spans.name[i].value];
    if (name.kind != Kind::kOperation) continue;
    int64_t& first = name.found ? firsts.found_ns : firsts.declared_ns;
    first = std::min(first, track.spans.begin_ns[i]);
    if (!name.found) break;
  }
  return firsts;
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
  edges_.resize(trace_.processes.size());
  for (size_t i = 0; i < trace_.processes.size(); ++i) {
    Process& process = trace_.processes[i];
    JoinPauses(&process.paused);
    JoinEdges(&process, &edges_[i]);
    EndOpenSteps(&process);
    if (!process.lead.valid()) ChooseLead(&process, tracks_of[i]);
  }
  for (CounterSeries& series : trace_.counters) SortSeries(&series);
  trace_.tracks.reserve(tracks_.size());
  uint64_t outlived = 0;
  for (TrackBuilder& track : tracks_) {
    outlived += track.outlived_;
    trace_.tracks.push_back(std::move(track.track_));
  }
  tracks_.clear();
  if (outlived > 0) {
    trace_.gaps.push_back(base::Counted(
        outlived,
        "{span was|spans were} outlived by very many that began in {it|them}: {it counts|they "
        "count} until the first of these began."));
  }
  PlaceFound(&trace_);
  return std::move(trace_);
}

void Builder::MatchFlows() {
  std::vector<std::vector<TrackBuilder*>> of_process(trace_.processes.size());
  size_t count = 0;
  for (TrackBuilder& track : tracks_) {
    of_process[track.track_.process.value].push_back(&track);
    for (size_t i = 0; i < track.flows_.size(); ++i) count += IsShared(track.flows_[i]) ? 1 : 0;
  }
  std::vector<FlowEnd> shared;
  shared.reserve(count);  // growing would hold them three times: of Kineto's traces, all of them
  for (const auto& tracks : of_process) Match(TakeEnds(tracks, &shared));
  Match(std::move(shared));
}

void Builder::Match(std::vector<FlowEnd> ends) {
  base::SortRuns(&ends, [](const FlowEnd& a, const FlowEnd& b) {
    if (a.id != b.id) return a.id < b.id;
    if (a.at_ns != b.at_ns) return a.at_ns < b.at_ns;
    if (a.out != b.out) return a.out;
    return a.track.value < b.track.value;
  });
  const auto arrivals =
      std::count_if(ends.begin(), ends.end(), [](const FlowEnd& end) { return !end.out; });
  trace_.flows.reserve(trace_.flows.size() + static_cast<size_t>(arrivals));
  for (size_t i = 0; i < ends.size();) {
    size_t j = i;
    while (j < ends.size() && ends[j].id == ends[i].id) ++j;
    const uint64_t bits = ends[i].id >> 62;
    dangling_[bits] += MatchOne({ends.data() + i, j - i}, &trace_.flows, &repeated_[bits]);
    i = j;
  }
}

std::vector<FlowEnd> Builder::TakeEnds(const std::vector<TrackBuilder*>& tracks,
                                       std::vector<FlowEnd>* shared) {
  size_t count = 0;
  for (const TrackBuilder* track : tracks) {
    for (size_t i = 0; i < track->flows_.size(); ++i) count += IsShared(track->flows_[i]) ? 0 : 1;
  }
  std::vector<FlowEnd> ends;
  ends.reserve(count);
  for (TrackBuilder* track : tracks) {
    for (size_t i = 0; i < track->flows_.size(); ++i) {
      const FlowEnd end = track->flows_[i];
      (IsShared(end) ? *shared : ends).push_back(end);
      track->flows_.Forget(i);
    }
  }
  return ends;
}

std::vector<Builder::Edge>& Builder::EdgesOf(TrackId track) {
  const uint32_t process = tracks_[track.value].track().process.value;
  if (edges_.size() <= process) edges_.resize(process + 1);
  return edges_[process];
}

void Builder::StepBegin(TrackId track, int64_t at, NameId name) {
  EdgesOf(track).push_back({at, track, name, kNoNumber, 3, false, false});
}

void Builder::StepLevel(TrackId track, int64_t number, uint8_t level, bool after_switch) {
  std::vector<Edge>& edges = EdgesOf(track);
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
    if (edge->track != track || edge->phase || !edge->name.valid()) continue;
    edge->number = number;
    edge->level = level;
    edge->after_switch = after_switch;
    return;
  }
}

void Builder::StepEnd(TrackId track, int64_t at) {
  EdgesOf(track).push_back({at, track, NameId::None(), kNoNumber, 3, false, false});
}

void Builder::PhaseBegin(TrackId track, int64_t at, NameId name) {
  EdgesOf(track).push_back({at, track, name, kNoNumber, 3, false, true});
}

void Builder::PhaseEnd(TrackId track, int64_t at) {
  EdgesOf(track).push_back({at, track, NameId::None(), kNoNumber, 3, false, true});
}

// By time. Of one instant, what ends an earlier step comes before what begins the next, whichever
// track was built first.
void Builder::SortEdges(std::vector<Edge>* edges) {
  std::stable_sort(edges->begin(), edges->end(),
                   [](const Edge& a, const Edge& b) { return a.at < b.at; });
  for (auto from = edges->begin(); from != edges->end();) {
    const auto to =
        std::find_if(from, edges->end(), [&](const Edge& e) { return e.at > from->at; });
    std::set<std::pair<uint32_t, bool>> begun;  // by track; steps and phases apart
    for (auto edge = from; to - from > 1 && edge != to; ++edge) {
      const std::pair key(edge->track.value, edge->phase);
      if (edge->name.valid()) {
        begun.insert(key);
      } else if (!begun.contains(key)) {
        std::rotate(from++, edge, edge + 1);
      }
    }
    from = to;
  }
}

void Builder::JoinEdges(Process* process, std::vector<Edge>* edges) {
  SortEdges(edges);
  bool in_step = false, in_phase = false, found = false;
  for (const Edge& edge : *edges) {
    bool& open = edge.phase ? in_phase : in_step;
    if (open && edge.phase) process->phases.back().end_ns = edge.at;
    if (open && !edge.phase) process->steps.back().end_ns = edge.at;
    open = edge.name.valid();
    if (!edge.phase) {
      // Where the program begins to declare steps, what an adapter just took for one was none.
      const bool finds = open && trace_.names[edge.name.value].found;
      if (found && open && !finds) process->steps.pop_back();
      found = finds;
    }
    if (!open) continue;
    const StringId name = trace_.names[edge.name.value].text;
    if (edge.phase) {
      process->phases.push_back({name, edge.at, process->end_ns});
    } else {
      const int64_t before = process->steps.empty() ? -1 : process->steps.back().number;
      const int64_t next = before == INT64_MAX ? before : before + 1;
      process->steps.push_back({edge.number == kNoNumber ? next : edge.number, edge.at,
                                process->end_ns, name, edge.level, edge.after_switch, false,
                                edge.track});
    }
  }
  if (in_step) process->steps.back().open = true;
}

// Those that are running when the process or one of its sessions ends. One without operations where
// the step before it has some is none: an adapter tells a step by the end of the one before. Nor
// does it last longer than others of its kind: what follows the last update of a loop is no step.
void Builder::EndOpenSteps(Process* process) const {
  constexpr int kFewest = 5;
  struct Ended {
    int64_t longest_ns = 0;
    int steps = 0;
  };
  std::map<uint32_t, Ended> by_kind;
  const Step* before = nullptr;
  for (Step& step : process->steps) {
    const auto window =
        std::partition_point(process->windows.begin(), process->windows.end(),
                             [&](const Window& other) { return other.end_ns <= step.begin_ns; });
    if (window != process->windows.end() && step.end_ns > window->end_ns) {
      step.end_ns = window->end_ns;
      step.open = true;
    }
    if (step.open) {
      const Work work = WorkIn(step);
      const bool had = before != nullptr && WorkIn(*before).has_operations;
      step.end_ns = had && !work.has_operations ? step.begin_ns : work.end_ns;
    }
    Ended& ended = by_kind[step.kind.value];
    const int64_t ns = step.end_ns - step.begin_ns;
    if (!step.open) {
      ended = {std::max(ended.longest_ns, ns), ended.steps + 1};
    } else if (ended.steps >= kFewest) {
      step.end_ns = step.begin_ns + std::min(ns, ended.longest_ns);
    }
    before = &step;
  }
}

// What goes on with an earlier span began where that did.
Builder::Work Builder::WorkIn(const Step& step) const {
  const Spans& spans = tracks_[step.track.value].track_.spans;
  int64_t of_operations = step.begin_ns, of_spans = step.begin_ns;
  const auto from = static_cast<size_t>(
      std::lower_bound(spans.begin_ns.begin(), spans.begin_ns.end(), step.begin_ns) -
      spans.begin_ns.begin());
  auto continued =
      static_cast<size_t>(std::lower_bound(spans.continued.begin(), spans.continued.end(), from) -
                          spans.continued.begin());
  std::vector<bool> older;  // by span, from `from` on
  for (size_t s = from; s < spans.size() && spans.begin_ns[s] < step.end_ns; ++s) {
    bool is_older = false;
    if (continued < spans.continued.size() && spans.continued[continued] == s) {
      const SpanIndex part = spans.parts_before[continued++];
      is_older = part < from || older[part - from];
    }
    older.push_back(is_older);
    if (is_older) continue;
    const bool operation = trace_.names[spans.name[s].value].kind == Kind::kOperation;
    int64_t& last = operation ? of_operations : of_spans;
    last = std::max(last, std::min(spans.end_ns[s], step.end_ns));
  }
  const bool has_operations = of_operations > step.begin_ns;
  return {has_operations ? of_operations : of_spans, has_operations};
}

void Builder::ChooseLead(Process* process, const std::vector<size_t>& tracks) const {
  std::unordered_map<uint32_t, size_t> steps_of;
  size_t most = 0;
  for (const Step& step : process->steps) {
    const size_t steps = ++steps_of[step.track.value];
    if (steps > most) most = steps, process->lead = step.track;
  }
  if (process->lead.valid()) return;
  int64_t first_declared = INT64_MAX, first_found = INT64_MAX;
  TrackId main = TrackId::None(), any = TrackId::None(), found = TrackId::None();
  for (size_t t : tracks) {
    const Track& track = tracks_[t].track_;
    if (track.kind != TrackKind::kThread || track.ours) continue;
    const TrackId id{static_cast<uint32_t>(t)};
    if (!any.valid()) any = id;
    const bool is_main = track.main && !main.valid();
    if (is_main) main = id;
    const Firsts work = FirstsOf(track, trace_.names);
    if (work.declared_ns < first_declared) first_declared = work.declared_ns, process->lead = id;
    // Of those in which one was found, the main thread is before all.
    const int64_t found_ns = is_main && work.found_ns != INT64_MAX ? INT64_MIN : work.found_ns;
    if (found_ns < first_found) first_found = found_ns, found = id;
  }
  if (!process->lead.valid()) process->lead = found;
  if (!process->lead.valid()) process->lead = main.valid() ? main : any;
}

}  // namespace crosscut::trace
