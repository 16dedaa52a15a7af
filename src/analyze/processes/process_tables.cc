#include "src/analyze/processes/process_tables.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

int64_t Sum(const std::vector<int64_t>& ns) {
  return std::accumulate(ns.begin(), ns.end(), int64_t{0});
}

}  // namespace

Table ProcessesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  Texts process, parent, name, why, method, lead;
  Integers pid, start, starting, wall, excluded, complete, threads, corrected, low, high;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    const ProcessAccount& account = a.processes[i];
    process.push_back(context.process_label({i}));
    pid.push_back(p.pid);
    parent.push_back(context.process_label(p.parent));
    name.emplace_back(trace.text(p.name));
    start.push_back(p.start_ns);
    starting.push_back(p.starting_ns);
    wall.push_back(account.overlap.window_ns);
    excluded.push_back(account.overlap.excluded_ns);
    complete.push_back(p.complete);
    why.emplace_back(trace.text(p.why_incomplete));
    method.emplace_back(trace.text(p.start_method));
    lead.push_back(context.track_label(p.lead));
    threads.push_back(static_cast<int64_t>(a.tracks[i].host.size()));
    corrected.push_back(Sum(account.correction.corrected_ns));
    const Bounds of_scale = {Sum(account.low.corrected_ns), Sum(account.high.corrected_ns)};
    const bool untouched = corrected.back() == account.overlap.window_ns;
    const Bounds bounds =
        untouched ? of_scale : OfSeparateRun(corrected.back(), of_scale, account.spread);
    low.push_back(bounds.low);
    high.push_back(bounds.high);
  }
  return MakeTable("processes", MakeColumn("process", process), MakeColumn("pid", pid),
                   MakeColumn("parent", parent), MakeColumn("name", name),
                   MakeColumn("start_ns", start), MakeColumn("wall_ns", wall),
                   MakeColumn("excluded_ns", excluded), MakeColumn("complete", complete),
                   MakeColumn("why_incomplete", why), MakeColumn("start_method", method),
                   MakeColumn("lead", lead), MakeColumn("threads", threads),
                   MakeColumn("corrected_ns", corrected), MakeColumn("corrected_low_ns", low),
                   MakeColumn("corrected_high_ns", high), MakeColumn("starting_ns", starting));
}

Table FactsTable(const trace::Trace& trace, const Context& context) {
  Texts process, name, value;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    for (const auto& [key, stated] : trace.processes[i].meta) {
      process.push_back(context.process_label({i}));
      name.emplace_back(trace.text(key));
      value.emplace_back(trace.text(stated));
    }
  }
  return MakeTable("facts", MakeColumn("process", process), MakeColumn("name", name),
                   MakeColumn("value", value));
}

Table WindowsTable(const trace::Trace& trace, const Context& context) {
  Texts process;
  Integers window, begin, end, wall, first_step, steps, complete;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    for (const trace::Window& w : p.windows) {
      const auto from =
          std::lower_bound(p.steps.begin(), p.steps.end(), w.begin_ns,
                           [](const trace::Step& step, int64_t ns) { return step.begin_ns < ns; });
      const auto to =
          std::lower_bound(from, p.steps.end(), w.end_ns,
                           [](const trace::Step& step, int64_t ns) { return step.begin_ns < ns; });
      process.push_back(context.process_label({i}));
      window.push_back(w.number);
      begin.push_back(w.begin_ns);
      end.push_back(w.end_ns);
      wall.push_back(w.end_ns - w.begin_ns);
      first_step.push_back(from == to ? -1 : from->number);
      steps.push_back(to - from);
      complete.push_back(w.complete);
    }
  }
  return MakeTable("windows", MakeColumn("process", process), MakeColumn("window", window),
                   MakeColumn("begin_ns", begin), MakeColumn("end_ns", end),
                   MakeColumn("wall_ns", wall), MakeColumn("first_step", first_step),
                   MakeColumn("steps", steps), MakeColumn("complete", complete));
}

Table DropsTable(const trace::Trace& trace, const Context& context) {
  Texts process, thread, reason;
  Integers count, begin, end;
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    for (const trace::Loss& loss : trace.tracks[t].losses) {
      process.push_back(context.process_label(trace.tracks[t].process));
      thread.push_back(context.track_label({t}));
      reason.emplace_back(trace.text(loss.reason));
      count.push_back(loss.count);
      begin.push_back(loss.begin_ns);
      end.push_back(loss.end_ns);
    }
  }
  return MakeTable("drops", MakeColumn("process", process), MakeColumn("thread", thread),
                   MakeColumn("reason", reason), MakeColumn("count", count),
                   MakeColumn("begin_ns", begin), MakeColumn("end_ns", end));
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
  Texts name, version, state, message;
  Integers processes;
  for (const auto& [key, n] : count) {
    name.emplace_back(std::get<0>(key));
    version.emplace_back(std::get<1>(key));
    state.emplace_back(std::get<2>(key));
    message.emplace_back(std::get<3>(key));
    processes.push_back(n);
  }
  return MakeTable("sources", MakeColumn("name", name), MakeColumn("version", version),
                   MakeColumn("state", state), MakeColumn("message", message),
                   MakeColumn("processes", processes));
}

Table ClocksTable(const trace::Trace& trace, const Context& context) {
  Texts clock, process;
  Integers anchors, error;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    for (const trace::Clock& c : trace.processes[i].clocks) {
      clock.emplace_back(trace.text(c.name));
      anchors.push_back(c.anchors);
      error.push_back(c.error_ns);
      process.push_back(context.process_label({i}));
    }
  }
  return MakeTable("clocks", MakeColumn("clock", clock), MakeColumn("anchors", anchors),
                   MakeColumn("error_ns", error), MakeColumn("process", process));
}

}  // namespace crosscut::analyze
