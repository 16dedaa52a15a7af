#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/processes/tables.h"

namespace crosscut::analyze {
namespace {

int64_t Sum(const std::vector<int64_t>& ns) {
  return std::accumulate(ns.begin(), ns.end(), int64_t{0});
}

}  // namespace

Table ProcessesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("processes", Text("process"), Integer("pid"), Text("parent"), Text("name"),
                  Integer("start_ns"), Integer("wall_ns"), Integer("excluded_ns"),
                  Integer("complete"), Text("why_incomplete"), Text("start_method"), Text("lead"),
                  Integer("threads"), Integer("corrected_ns"), Integer("corrected_low_ns"),
                  Integer("corrected_high_ns"), Integer("starting_ns"));
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    const ProcessAccount& account = a.processes[i];
    const int64_t wall = account.overlap.window_ns;
    const int64_t corrected = Sum(account.correction.corrected_ns);
    const Bounds of_scale = {Sum(account.low.corrected_ns), Sum(account.high.corrected_ns)};
    const Bounds bounds =
        corrected == wall ? of_scale : OfSeparateRun(corrected, of_scale, account.spread);
    table.Add(context.process_label({i}), p.pid, context.process_label(p.parent),
              trace.text(p.name), p.start_ns, wall, account.overlap.excluded_ns, p.complete,
              trace.text(p.why_incomplete), trace.text(p.start_method), context.track_label(p.lead),
              a.tracks[i].host.size(), corrected, bounds.low, bounds.high, p.starting_ns);
  }
  return table.Make();
}

Table FactsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("facts", Text("process"), Text("name"), Text("value"));
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    for (const auto& [key, stated] : trace.processes[i].meta) {
      table.Add(context.process_label({i}), trace.text(key), trace.text(stated));
    }
  }
  return table.Make();
}

Table WindowsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("windows", Text("process"), Integer("window"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("wall_ns"), Integer("first_step"), Integer("steps"),
                  Integer("complete"));
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    for (const trace::Window& w : p.windows) {
      const auto from =
          std::lower_bound(p.steps.begin(), p.steps.end(), w.begin_ns,
                           [](const trace::Step& step, int64_t ns) { return step.begin_ns < ns; });
      const auto to =
          std::lower_bound(from, p.steps.end(), w.end_ns,
                           [](const trace::Step& step, int64_t ns) { return step.begin_ns < ns; });
      table.Add(context.process_label({i}), w.number, w.begin_ns, w.end_ns, w.end_ns - w.begin_ns,
                from == to ? -1 : from->number, to - from, w.complete);
    }
  }
  return table.Make();
}

Table DropsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("drops", Text("process"), Text("thread"), Text("reason"), Integer("count"),
                  Integer("begin_ns"), Integer("end_ns"));
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    for (const trace::Loss& loss : trace.tracks[t].losses) {
      table.Add(context.process_label(trace.tracks[t].process), context.track_label({t}),
                trace.text(loss.reason), loss.count, loss.begin_ns, loss.end_ns);
    }
  }
  return table.Make();
}

Table SourcesTable(const trace::Trace& trace, const Context&) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::map<Key, int64_t> count;
  for (const trace::Process& p : trace.processes) {
    for (const trace::Source& s : p.sources) {
      ++count[{trace.text(s.name), trace.text(s.version), trace.text(s.state),
               trace.text(s.message)}];
    }
  }
  TableRows table("sources", Text("name"), Text("version"), Text("state"), Text("message"),
                  Integer("processes"));
  for (const auto& [key, n] : count) {
    table.Add(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), n);
  }
  return table.Make();
}

Table ClocksTable(const trace::Trace& trace, const Context& context) {
  TableRows table("clocks", Text("clock"), Integer("anchors"), Integer("error_ns"),
                  Text("process"));
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    for (const trace::Clock& c : trace.processes[i].clocks) {
      table.Add(trace.text(c.name), c.anchors, c.error_ns, context.process_label({i}));
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
