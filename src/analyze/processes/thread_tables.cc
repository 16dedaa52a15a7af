#include "src/analyze/processes/thread_tables.h"

#include <algorithm>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

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
  if (begin >= end) return 0;
  int64_t life = end - begin;
  auto pause = std::partition_point(events.pauses.begin(), events.pauses.end(),
                                    [&](const trace::Interval& i) { return i.end_ns <= begin; });
  for (; pause != events.pauses.end() && pause->begin_ns < end; ++pause) {
    life -= std::min(pause->end_ns, end) - std::max(pause->begin_ns, begin);
  }
  return life;
}

}  // namespace

Table ThreadsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  Texts process, thread, operation, layer;
  Integers ns;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : ThreadsOf(a.tracks[p])) {
      std::vector<Cell> cells = ComputeThreadTime(trace, a.names, a.events[p], t).cells;
      std::stable_sort(cells.begin(), cells.end(),
                       [](const Cell& x, const Cell& y) { return x.ns > y.ns; });
      for (const Cell& cell : cells) {
        process.push_back(context.process_label({p}));
        thread.push_back(context.track_label({t}));
        operation.emplace_back(trace.text(a.names.operations[cell.operation]));
        layer.push_back(LayersText(cell.layers));
        ns.push_back(cell.ns);
      }
    }
  }
  return MakeTable("threads", MakeColumn("process", process), MakeColumn("thread", thread),
                   MakeColumn("operation", operation), MakeColumn("layer", layer),
                   MakeColumn("ns", ns));
}

Table ThreadLivesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  Texts process, thread;
  Integers os_id, main, lead, ours, begin, end, life, spans;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : ThreadsOf(a.tracks[p])) {
      const trace::Track& track = trace.tracks[t];
      process.push_back(context.process_label({p}));
      thread.push_back(context.track_label({t}));
      os_id.push_back(track.os_id);
      main.push_back(track.main);
      lead.push_back(trace.processes[p].lead.value == t);
      ours.push_back(track.ours);
      begin.push_back(track.begin_ns);
      end.push_back(track.end_ns);
      life.push_back(LifeOf(trace.processes[p], track, a.events[p]));
      spans.push_back(static_cast<int64_t>(track.spans.size()));
    }
  }
  return MakeTable("thread_lives", MakeColumn("process", process), MakeColumn("thread", thread),
                   MakeColumn("os_id", os_id), MakeColumn("main", main), MakeColumn("lead", lead),
                   MakeColumn("ours", ours), MakeColumn("begin_ns", begin),
                   MakeColumn("end_ns", end), MakeColumn("life_ns", life),
                   MakeColumn("spans", spans));
}

}  // namespace crosscut::analyze
