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
  // Those of one process; null where it has no device tracks.
  const ProcessWork* device_work(trace::ProcessId process) const;
  const std::vector<DeviceMemory>& memory() const;
  const trace::TracksByProcess& tracks() const;
  // Its counter of that name, the first of several; null where it has none.
  const trace::CounterSeries* counter(trace::ProcessId process, std::string_view name) const;
  // Process and thread as tables name them: unique in the run, and in the process.
  const std::string& process_label(trace::ProcessId process) const;
  const std::string& track_label(trace::TrackId track) const;

 private:
  struct State;
  const trace::Trace& trace_;
  std::unique_ptr<State> state_;
};

// Which steps' doings a table holds, where a step plan records some steps with less than others.
enum class Shows : uint8_t {
  kFacts,       // no doings, or only lengths of steps, which are known of all
  kTime,        // all time, that of control steps as such
  kBoundary,    // what is recorded in every step but control steps
  kOperators,   // what comes with operators
  kEverything,  // what is recorded only with everything
  kSpans,       // single spans of all these sorts
};

struct TableEntry {
  const char* name;
  Shows shows;
  const char* description;  // one line
  Table (*without_notes)(const trace::Trace&, const Context&);
  bool long_one = false;  // a row per event or stack: no part of reports

  // With a note from how many steps it comes, where that is not all of them.
  Table Make(const trace::Trace& trace, const Context& context) const;
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
