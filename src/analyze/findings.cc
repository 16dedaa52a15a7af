#include "src/analyze/findings.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/collectives/tables.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/graph_launches.h"
#include "src/analyze/devices/tables.h"
#include "src/analyze/figures.h"
#include "src/analyze/memory/tables.h"
#include "src/analyze/processes/tables.h"
#include "src/analyze/time/tables.h"
#include "src/analyze/verdict/native_code.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

constexpr double kWorthSaying = 0.05;  // of the time that a finding is about

struct Finding {
  std::string process, table, message;
  int64_t value_ns;
};

std::string Percent(int64_t part, int64_t whole) {
  return ShareText(static_cast<double>(part) / static_cast<double>(whole));
}

bool Matters(int64_t part, int64_t whole) {
  return whole > 0 && static_cast<double>(part) >= kWorthSaying * static_cast<double>(whole);
}

// Nothing is told of processes in which devices may have worked while they seem idle.
void FindIdle(const Table& timeline, const Table& causes, const Context& context,
              std::vector<Finding>* out) {
  std::set<std::string> unknown;
  const GraphLaunches& launches = context.Shared<GraphLaunches>();
  for (uint32_t p = 0; p < launches.processes.size(); ++p) {
    if (launches.processes[p].without_work > 0) unknown.insert(context.process_label({p}));
  }
  constexpr std::pair<const char*, const char*> kReasons[] = {
      {"host_wait", "the next work was launched too late: the host was slower"},
      {"kernel_wait", "one kernel followed another with a short gap"},
      {"other",
       "work was launched in time and did not begin: it waited for another stream or an event"},
      {"unlinked", "work began whose launch is not known"}};
  std::map<std::string, std::map<std::string, int64_t>> gaps_of;  // by process and cause
  for (size_t row = 0; row < causes.rows(); ++row) {
    gaps_of[causes.texts("process")[row]][causes.texts("cause")[row]] +=
        causes.integers("total_ns")[row];
  }
  for (size_t row = 0; row < timeline.rows(); ++row) {
    const std::string& process = timeline.texts("process")[row];
    const int64_t total = timeline.integers("total_ns")[row];
    const int64_t idle = timeline.integers("idle_ns")[row];
    if (!Matters(idle, total) || unknown.contains(process)) continue;
    out->push_back({process, "device_timeline",
                    "The devices did nothing for " + Percent(idle, total) +
                        " of the time between their first and last work (" + TimeText(idle) + ").",
                    idle});
    std::map<std::string, int64_t>& by_cause = gaps_of[process];
    int64_t gaps = 0;
    for (const auto& [cause, ns] : by_cause) gaps += ns;
    for (const auto& [cause, words] : kReasons) {
      if (!Matters(by_cause[cause], gaps)) continue;
      out->push_back({process, "idle_causes",
                      Percent(by_cause[cause], gaps) + " of the gaps on its streams (" +
                          TimeText(by_cause[cause]) + ") arose because " + words + ".",
                      std::min(by_cause[cause], idle)});
    }
  }
}

void FindExposed(const Table& timeline, std::vector<Finding>* out) {
  for (size_t row = 0; row < timeline.rows(); ++row) {
    const std::string& process = timeline.texts("process")[row];
    const int64_t total = timeline.integers("total_ns")[row];
    for (const auto& [column, words] :
         {std::pair("exposed_comm_ns", "Communication"), std::pair("exposed_copy_ns", "Copies")}) {
      const int64_t exposed = timeline.integers(column)[row];
      if (!Matters(exposed, total)) continue;
      out->push_back({process, "device_timeline",
                      std::string(words) + " that no computation hid took " + TimeText(exposed) +
                          ", " + Percent(exposed, total) + " of the devices' time.",
                      exposed});
    }
  }
}

void FindLaunches(const Table& launches, const Table& timeline, std::vector<Finding>* out) {
  std::map<std::string, int64_t> totals;
  for (size_t row = 0; row < timeline.rows(); ++row) {
    totals[timeline.texts("process")[row]] = timeline.integers("total_ns")[row];
  }
  for (size_t row = 0; row < launches.rows(); ++row) {
    const std::string& process = launches.texts("process")[row];
    const int64_t brief = launches.integers("short_count")[row];
    const int64_t count = launches.integers("count")[row];
    const int64_t host = launches.integers("host_ns")[row];
    if (2 * brief < count || !Matters(host, totals[process])) continue;
    out->push_back({process, "launches",
                    std::to_string(brief) + " of " + std::to_string(count) + " calls of " +
                        launches.texts("launch")[row] +
                        " took longer than the work that they launched (" + TimeText(host) +
                        " on the host): fuse kernels, or launch them as a graph.",
                    host});
  }
}

void FindStragglers(const Table& stragglers, std::vector<Finding>* out) {
  for (size_t row = 0; row < stragglers.rows(); ++row) {
    const int64_t made = stragglers.integers("made_wait_ns")[row];
    const int64_t last = stragglers.integers("last_count")[row];
    const int64_t all = stragglers.integers("collectives")[row];
    if (made == 0 || 2 * last <= all) continue;
    out->push_back({stragglers.texts("process")[row], "stragglers",
                    "The other processes waited " + TimeText(made) +
                        " for this one in collectives; it came last in " + std::to_string(last) +
                        " of " + std::to_string(all) + ".",
                    made});
  }
}

struct NamedProcess {
  std::string title;
  int64_t window_ns = 0;
};

// What each process waited for most: those of its rows that matter, three at most.
void FindWaits(const Table& waits, const Context& context, std::vector<Finding>* out) {
  std::map<std::string, NamedProcess> processes;
  for (uint32_t i = 0; i < context.trace().processes.size(); ++i) {
    processes[context.process_label({i})] = {
        context.trace().title({i}), context.Shared<Accounting>().processes[i].overlap.window_ns};
  }
  std::map<std::string, int> told;
  for (size_t row = 0; row < waits.rows(); ++row) {
    const std::string& process = waits.texts("process")[row];
    const int64_t wait = waits.integers("wait_ns")[row];
    const int64_t count = waits.integers("count")[row];
    const std::string& operation = waits.texts("operation")[row];
    if (!Matters(wait, processes[process].window_ns) || ++told[process] > 3) continue;
    const int64_t before = waits.integers("before_ns")[row];
    std::string parts = count == 1 ? ", once: " : ", " + std::to_string(count) + " times: ";
    if (before != kMissing) {
      parts += TimeText(before) + " before that began, " +
               TimeText(waits.integers("running_ns")[row]) + " while it ran, ";
    }
    out->push_back({process, "process_waits",
                    (operation.empty() ? "It waited " : operation + " waited ") + TimeText(wait) +
                        " (" + Percent(wait, processes[process].window_ns) + " of the window) in " +
                        waits.texts("name")[row] + " for " + waits.texts("for_name")[row] + " of " +
                        processes[waits.texts("for_process")[row]].title + parts +
                        TimeText(waits.integers("after_ns")[row]) + " after its end.",
                    wait});
  }
}

// What tables say in a column of their own, with the time at stake in the column `value`, if any.
void AddFindings(const Table& table, const char* value, std::vector<Finding>* out) {
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string& finding = table.texts("finding")[row];
    const int64_t ns = value == nullptr ? kMissing : table.integers(value)[row];
    if (!finding.empty()) out->push_back({table.texts("process")[row], table.name, finding, ns});
  }
}

// Native code that samples met where no span but Python's was.
void FindUnwrapped(const Table& samples, std::vector<Finding>* out) {
  using Thread = std::pair<std::string, std::string>;
  struct Library {
    int64_t ns = 0;
    std::map<std::string, int64_t> lines;  // that call it; a line has a row for each function there
  };
  std::map<Thread, int64_t> totals;
  std::map<std::pair<Thread, std::string>, Library> libraries;
  for (size_t row = 0; row < samples.rows(); ++row) {
    const Thread thread = {samples.texts("process")[row], samples.texts("thread")[row]};
    const int64_t ns = samples.integers("ns")[row];
    totals[thread] += ns;
    const std::string& layer = samples.texts("layer")[row];
    const std::string& name = samples.texts("library")[row];
    const std::string& line = samples.texts("line")[row];
    if (layer != "python" || line.empty() || CodeOf(name) != Code::kNative) continue;
    Library& library = libraries[{thread, name}];
    library.ns += ns;
    library.lines[line] += ns;
  }
  for (const auto& [key, library] : libraries) {
    const auto& [thread, name] = key;
    if (!Matters(library.ns, totals[thread])) continue;
    const auto most = std::max_element(library.lines.begin(), library.lines.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    out->push_back({thread.first, "samples",
                    "Thread " + thread.second + " seems to spend " + TimeText(library.ns) + " (" +
                        Percent(library.ns, totals[thread]) +
                        " of its time) in Python that is in fact native code of " + name +
                        ", called most from " + most->first +
                        ": --wrap MODULE:LAYER records such calls.",
                    library.ns});
  }
}

}  // namespace

Table FindingsTable(const trace::Trace& trace, const Context& context) {
  const Table timeline = DeviceTimelineTable(trace, context);
  std::vector<Finding> findings;
  FindIdle(timeline, IdleCausesTable(trace, context), context, &findings);
  FindExposed(timeline, &findings);
  FindLaunches(LaunchesTable(trace, context), timeline, &findings);
  FindStragglers(StragglersTable(trace, context), &findings);
  FindWaits(ProcessWaitsTable(trace, context), context, &findings);
  AddFindings(MemoryLeaksTable(trace, context), nullptr, &findings);
  AddFindings(MemoryGrowthTable(trace, context), nullptr, &findings);
  AddFindings(MemoryFailuresTable(trace, context), nullptr, &findings);
  AddFindings(StepChangesTable(trace, context), "total_ns", &findings);
  AddFindings(BesideStepsTable(trace, context), "ns", &findings);
  FindUnwrapped(SamplesTable(trace, context), &findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.value_ns > b.value_ns; });
  TableRows table("findings", Text("process"), Text("message"), Text("table"), Integer("value_ns"));
  for (const Finding& finding : findings) {
    table.Add(finding.process, finding.message, finding.table, finding.value_ns);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
