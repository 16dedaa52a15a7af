#include <algorithm>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/processes/tables.h"

namespace crosscut::analyze {
namespace {

// Threads of a process: the program's, then Crosscut's own.
std::vector<uint32_t> ThreadsOf(const ProcessTracks& tracks) {
  std::vector<uint32_t> all = tracks.host;
  all.insert(all.end(), tracks.ours.begin(), tracks.ours.end());
  return all;
}

int64_t LifeOf(const trace::Process& p, const trace::Track& t, const ProcessEvents& events) {
  const int64_t begin = std::max(p.start_ns, t.begin_ns), end = std::min(p.end_ns, t.end_ns);
  return begin >= end ? 0 : end - begin - LengthWithin(events.pauses, begin, end);
}

// As threads see them, which know nothing of steps: only where more or less of them is known. In a
// step of which nothing is, they are in what they were in when it began.
ProcessEvents WithoutSteps(ProcessEvents events) {
  const auto same = [](const Stretch& a, const Stretch& b) {
    return a.known == b.known && b.known != Known::kNothing;
  };
  std::vector<Stretch>& all = events.stretches;
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return events;
}

}  // namespace

Table ThreadsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("threads", Text("process"), Text("thread"), Text("operation"), Text("layer"),
                  Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessEvents events = WithoutSteps(a.events[p]);
    for (const uint32_t t : ThreadsOf(a.tracks[p])) {
      std::vector<Cell> cells = ComputeThreadTime(trace, a.names, events, t).cells;
      std::stable_sort(cells.begin(), cells.end(),
                       [](const Cell& x, const Cell& y) { return x.ns > y.ns; });
      for (const Cell& cell : cells) {
        table.Add(context.process_label({p}), context.track_label({t}),
                  trace.text(a.names.operations[cell.operation]), LayersText(cell.layers), cell.ns);
      }
    }
  }
  return table.Make();
}

Table ThreadLivesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("thread_lives", Text("process"), Text("thread"), Integer("os_id"),
                  Integer("main"), Integer("lead"), Integer("ours"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("life_ns"), Integer("spans"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : ThreadsOf(a.tracks[p])) {
      const trace::Track& track = trace.tracks[t];
      table.Add(context.process_label({p}), context.track_label({t}), track.os_id, track.main,
                trace.processes[p].lead.value == t, track.ours, track.begin_ns, track.end_ns,
                LifeOf(trace.processes[p], track, a.events[p]), track.spans.size());
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
