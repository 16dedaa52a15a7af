// The list of tables: what `crosscut table` prints and what every report is made of. One place to
// ask for a table by name; the analyses behind them share one Context.
//
// Texts in cells: operation "" = no operation, layers "" = nothing known, (unlinked) = device work
// with no known launch. Views choose their own words for the empty ones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analyze/table.h"
#include "src/base/status.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct ProcessWork;   // device_work.h: the events of devices
struct DeviceMemory;  // memory_events.h: allocations and frees
struct Accounting;    // accounting.h: the overlap cells of every process, raw and corrected

// What tables share: the expensive results, each computed at the first call and kept. Refers to
// the trace, which must outlive it and must not change. Safe to use from several threads.
class Context {
 public:
  explicit Context(const trace::Trace& trace);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const trace::Trace& trace() const { return trace_; }
  const Accounting& accounting() const;
  const std::vector<ProcessWork>& device_work() const;
  const std::vector<DeviceMemory>& memory() const;
  // Process and thread as tables name them: unique in the run, and in the process.
  const std::string& process_label(trace::ProcessId process) const;
  const std::string& track_label(trace::TrackId track) const;

 private:
  struct State;
  const trace::Trace& trace_;
  std::unique_ptr<State> state_;
};

struct TableEntry {
  const char* name;
  const char* description;  // one line
  Table (*make)(const trace::Trace&, const Context&);
  bool long_one = false;  // a row per event or stack: no part of reports
};

// In the order in which `crosscut table` lists them.
std::span<const TableEntry> TableList();

// The table called `name`; kNotFound with the list of names where there is none. `context` was
// made for `trace`.
Result<Table> ComputeTable(const trace::Trace& trace, const Context& context,
                           std::string_view name);

// What a report must say before any number, most serious first: the trace's own gaps, then
// incomplete processes, losses by reason and time, repairs, an unchecked correction.
std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
