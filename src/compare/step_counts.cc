#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/memory/memory_events.h"
#include "src/analyze/steps/span_sums.h"
#include "src/analyze/steps/step_classes.h"
#include "src/compare/divide.h"
#include "src/compare/tables.h"
#include "src/trace/spans_around.h"

namespace crosscut::compare {
namespace {

using analyze::Accounting;
using analyze::Integer;
using analyze::Several;
using analyze::Text;

constexpr size_t kMostCounted = 2000;  // steps of one run

// In which operation all of some things are.
struct Place {
  bool any = false;
  std::string operation;  // "": in none, or not all in the same

  void Add(const Place& more) {
    if (!more.any) return;
    if (any && operation != more.operation) return operation.clear();
    *this = more;
  }
};

// What is counted in some steps.
struct Tally {
  int64_t count = 0, low = 0, high = 0, ns = 0;
  size_t seen = 0;  // steps that were added; the others have none
  Place place;

  void Add(int64_t in_step, int64_t step_ns) {
    low = seen == 0 ? in_step : std::min(low, in_step);
    high = std::max(high, in_step);
    count += in_step;
    ns += step_ns;
    ++seen;
  }
  void Add(const Tally& more) {
    low = seen == 0 ? more.low : std::min(low, more.low);
    high = std::max(high, more.high);
    count += more.count;
    ns += more.ns;
    seen += more.seen;
    place.Add(more.place);
  }
  void Complete(size_t steps) {
    if (seen < steps) low = 0;
    seen = steps;
  }
};

using Key = std::pair<std::string, std::string>;  // layer and name; or what, and ""
using Tallies = std::map<Key, Tally>;

// The steps of one process in which things are counted.
struct Counted {
  const Run* run;
  uint32_t process;
  std::vector<analyze::StepSample> samples;
  std::vector<uint32_t> steps;  // indices into Process::steps
};

std::vector<Counted> Select(std::span<const Run> runs, const std::vector<trace::ProcessId>& of,
                            const std::string& kind, uint8_t level) {
  std::vector<Counted> out;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (!of[r].valid()) continue;
    const trace::Trace& trace = *runs[r].trace;
    const trace::Process& process = trace.processes[of[r].value];
    const auto& accounting = runs[r].context->Shared<Accounting>();
    const analyze::ProcessAccount& account = accounting.processes[of[r].value];
    Counted counted{&runs[r],
                    of[r].value,
                    analyze::SampleSteps(process, accounting.events[of[r].value], account.overlap),
                    {}};
    for (uint32_t s = 0; s < process.steps.size(); ++s) {
      const bool fits = process.steps[s].level == level && counted.samples[s].counts &&
                        trace.text(process.steps[s].kind) == kind;
      if (fits && counted.steps.size() < kMostCounted) counted.steps.push_back(s);
    }
    out.push_back(std::move(counted));
  }
  return out;
}

int64_t CountSteps(const std::vector<Counted>& side) {
  int64_t count = 0;
  for (const Counted& counted : side) count += static_cast<int64_t>(counted.steps.size());
  return count;
}

// In the steps of the highest level that both sides have; of that with enough of them, if any.
Both<std::vector<Counted>> SelectBoth(const Sides& sides, const Role& role,
                                      const std::string& kind) {
  for (const int64_t enough : {kFewestCounted, int64_t{1}}) {
    for (const uint8_t level : {3, 2, 1}) {
      Both<std::vector<Counted>> out = {Select(sides.a, role.processes.a, kind, level),
                                        Select(sides.b, role.processes.b, kind, level)};
      if (std::min(CountSteps(out.a), CountSteps(out.b)) >= enough) return out;
    }
  }
  return {};
}

// Finds the counted step at a time.
class StepFinder {
 public:
  explicit StepFinder(const Counted& counted) {
    const auto& steps = counted.run->trace->processes[counted.process].steps;
    for (const uint32_t s : counted.steps) steps_.push_back({steps[s].begin_ns, steps[s].end_ns});
    std::sort(steps_.begin(), steps_.end(),
              [](const auto& x, const auto& y) { return x.begin_ns < y.begin_ns; });
  }
  size_t size() const { return steps_.size(); }
  // SIZE_MAX where there is none.
  size_t At(int64_t at_ns) const {
    const auto after = std::upper_bound(
        steps_.begin(), steps_.end(), at_ns,
        [](int64_t at, const trace::Interval& step) { return at < step.begin_ns; });
    if (after == steps_.begin() || at_ns >= std::prev(after)->end_ns) return SIZE_MAX;
    return static_cast<size_t>(std::prev(after) - steps_.begin());
  }

 private:
  std::vector<trace::Interval> steps_;
};

// When an event was begun on the host: it, or what launched it.
int64_t BegunAt(const trace::Trace& trace, const analyze::DeviceEvent& event) {
  if (!event.launched()) return event.begin_ns;
  return trace.tracks[event.launch_track.value].spans.begin_ns[event.launch];
}

// In which operations of the lead things of each name are begun.
class Places {
 public:
  explicit Places(const Counted& counted)
      : trace_(*counted.run->trace),
        finder_(counted),
        lead_(trace_.processes[counted.process].lead),
        operations_(trace_,
                    [this](trace::TrackId track, trace::SpanIndex span) {
                      const auto name = trace_.tracks[track.value].spans.name[span];
                      return trace_.name(name).kind == trace::Kind::kOperation;
                    }),
        by_name_(trace_.names.size()) {
    if (lead_.value >= trace_.tracks.size()) return;
    const trace::OpenSpans open(trace_.tracks[lead_.value].spans);
    const auto& tracks = counted.run->context->Shared<Accounting>().tracks[counted.process];
    for (const std::vector<uint32_t>* some : {&tracks.host, &tracks.async}) {
      for (const uint32_t t : *some) {
        const trace::Spans& spans = trace_.tracks[t].spans;
        for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
          Add(open, spans.name[s], spans.begin_ns[s]);
        }
      }
    }
    for (const analyze::DeviceEvent& event :
         counted.run->context->Shared<analyze::DeviceWork>().events({counted.process})) {
      Add(open, trace_.tracks[event.track.value].spans.name[event.span], BegunAt(trace_, event));
    }
  }
  // By NameId.
  const Place& Of(size_t name) const { return by_name_[name]; }

 private:
  void Add(const trace::OpenSpans& open, trace::NameId name, int64_t at) {
    Place& place = by_name_[name.value];
    if (place.any && place.operation.empty()) return;  // it is known that it is in no single one
    if (finder_.At(at) == SIZE_MAX) return;
    const trace::SpanIndex around = operations_.Of(lead_, open.InnermostAt(at));
    const trace::Spans& spans = trace_.tracks[lead_.value].spans;
    place.Add({true, around == trace::kNoSpan ? std::string()
                                              : std::string(trace_.name_text(spans.name[around]))});
  }

  const trace::Trace& trace_;
  const StepFinder finder_;
  const trace::TrackId lead_;
  trace::SpansAround operations_;
  std::vector<Place> by_name_;
};

Tallies CountNames(const Counted& counted) {
  const trace::Trace& trace = *counted.run->trace;
  const trace::Process& process = trace.processes[counted.process];
  analyze::StepClasses each;  // each step is a class of its own, so its spans are summed alone
  each.of_step.assign(process.steps.size(), analyze::StepClasses::kNone);
  for (const uint32_t s : counted.steps) {
    each.of_step[s] = static_cast<uint32_t>(each.classes.size());
    each.classes.push_back({"", process.steps[s].kind});
  }
  const auto& tracks = counted.run->context->Shared<Accounting>().tracks[counted.process];
  Tallies out;
  for (const analyze::SpanName& name :
       analyze::SumSpans(trace, tracks, process, counted.samples, each).names) {
    if (name.sums.empty()) continue;
    Tally& tally =
        out[{std::string(trace::LayerName(name.layer)), std::string(trace.text(name.text))}];
    Tally of_name;
    for (const analyze::SpanSum& sum : name.sums) of_name.Add(sum.count, sum.ns);
    of_name.Complete(counted.steps.size());
    tally.Add(of_name);
  }
  const Places places(counted);
  for (size_t n = 0; n < trace.names.size(); ++n) {
    const trace::Name& name = trace.names[n];
    if (name.kind != trace::Kind::kSpan || !places.Of(n).any) continue;
    const auto of_name =
        out.find({std::string(trace::LayerName(name.layer)), std::string(trace.text(name.text))});
    if (of_name != out.end()) of_name->second.place.Add(places.Of(n));
  }
  return out;
}

class ThingCounter {
 public:
  explicit ThingCounter(const Counted& counted) : counted_(counted), finder_(counted) {
    CountOperators();
    CountDeviceWork();
    CountMemory();
  }
  Tallies Take() const {
    Tallies out;
    for (const auto& [what, by_step] : counts_) {
      for (const int64_t count : by_step) out[{what, ""}].Add(count, 0);
    }
    return out;
  }

 private:
  void Add(const char* what, int64_t at_ns, int64_t count) {
    const size_t step = finder_.At(at_ns);
    if (step == SIZE_MAX) return;
    std::vector<int64_t>& by_step = counts_[what];
    by_step.resize(finder_.size());
    by_step[step] += count;
  }

  void CountOperators() {
    const trace::Trace& trace = *counted_.run->trace;
    std::vector<bool> is_operator;
    for (const trace::Name& name : trace.names) {  // as the table operators has them
      is_operator.push_back(
          name.kind == trace::Kind::kSpan && trace.text(name.probe) != "boundary" &&
          (name.layer == trace::Layer::kFramework || name.layer == trace::Layer::kComm));
    }
    const auto& tracks = counted_.run->context->Shared<Accounting>().tracks[counted_.process];
    for (const uint32_t t : tracks.host) {
      const trace::Spans& spans = trace.tracks[t].spans;
      trace::Continuations continued(spans);
      for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
        const bool again = continued.Has(s);
        if (!again && is_operator[spans.name[s].value]) Add("operators", spans.begin_ns[s], 1);
      }
    }
  }

  void CountDeviceWork() {
    const trace::Trace& trace = *counted_.run->trace;
    const auto* work = counted_.run->context->Shared<analyze::DeviceWork>().of({counted_.process});
    if (work == nullptr) return;
    std::set<std::pair<uint32_t, trace::SpanIndex>> launches;
    for (const analyze::DeviceEvent& event : work->events) {
      if (!event.work()) continue;
      const int64_t at = BegunAt(trace, event);
      if (event.launched() && launches.insert({event.launch_track.value, event.launch}).second) {
        Add("launches", at, 1);
      }
      const bool computes = event.type == analyze::WorkType::kComputation;
      const bool copies = event.type == analyze::WorkType::kCopy;
      Add(computes ? "kernels" : copies ? "copies" : "collectives", at, 1);
    }
  }

  void CountMemory() {
    for (const analyze::DeviceMemory& memory :
         counted_.run->context->Shared<analyze::MemoryUse>().devices) {
      if (memory.process.value != counted_.process) continue;
      for (const analyze::MemoryChange& change : memory.changes) {
        if (change.bytes <= 0) continue;
        Add("allocations", change.at_ns, 1);
        Add("allocated bytes", change.at_ns, change.bytes);
      }
    }
  }

  const Counted& counted_;
  StepFinder finder_;
  std::map<std::string, std::vector<int64_t>> counts_;
};

Tallies CountThings(const Counted& counted) { return ThingCounter(counted).Take(); }

struct Row {
  const RoleSteps* of;
  Key key;
  Both<int64_t> steps;
  Both<Tally> tally;

  bool changed() const { return tally.a.high < tally.b.low || tally.b.high < tally.a.low; }
  int64_t PerStep(const Tally& of, int64_t count) const {
    return count == 0 ? 0 : DivideExactly({of.ns}, count).front();
  }
  int64_t a_ns() const { return PerStep(tally.a, steps.a); }
  int64_t b_ns() const { return PerStep(tally.b, steps.b); }
};

std::map<Key, Tally> SumOf(const std::vector<Counted>& side,
                           const std::function<Tallies(const Counted&)>& count) {
  Tallies sums;
  size_t steps = 0;
  for (const Counted& counted : side) {
    if (counted.steps.empty()) continue;
    Tallies tallies = count(counted);
    for (auto& [key, tally] : tallies) {
      // Runs before had none of it.
      if (steps > 0 && sums.find(key) == sums.end()) sums[key].Complete(steps);
      sums[key].Add(tally);
    }
    steps += counted.steps.size();
    for (auto& [key, sum] : sums) sum.Complete(steps);
  }
  return sums;
}

std::vector<Row> RowsOf(const Sides& sides, const std::vector<Role>& roles,
                        const std::vector<RoleSteps>& steps,
                        const std::function<Tallies(const Counted&)>& count) {
  std::vector<Row> out;
  const RolesByLabel by_label(roles);
  for (const RoleSteps& of : steps) {
    const Role* const role = by_label.Find(of.process);
    if (role == nullptr || of.kind.empty()) continue;
    const Both<std::vector<Counted>> counted = SelectBoth(sides, *role, of.kind);
    const Both<int64_t> selected = {CountSteps(counted.a), CountSteps(counted.b)};
    std::map<Key, Row> rows;
    for (const auto& [key, tally] : SumOf(counted.a, count)) rows[key].tally.a = tally;
    for (const auto& [key, tally] : SumOf(counted.b, count)) rows[key].tally.b = tally;
    for (auto& [key, row] : rows) {
      row.of = &of;
      row.key = key;
      row.steps = selected;
      out.push_back(std::move(row));
    }
  }
  return out;
}

constexpr const char* kCounts[] = {"a_steps", "b_steps", "a_count", "b_count", "a_low",
                                   "a_high",  "b_low",   "b_high",  "changed"};

std::array<int64_t, std::size(kCounts)> CountsOf(const Row& row) {
  const Tally &a = row.tally.a, &b = row.tally.b;
  return {row.steps.a, row.steps.b, a.count, b.count, a.low, a.high, b.low, b.high, row.changed()};
}

}  // namespace

analyze::Table StepCountsTable(const Sides& sides, const std::vector<Role>& roles,
                               const std::vector<RoleSteps>& steps) {
  analyze::TableRows table("diff_step_counts", Text("process"), Text("what"),
                           Several<Integer>(kCounts), Text("kind"));
  for (const Row& row : RowsOf(sides, roles, steps, CountThings)) {
    table.Add(row.of->process, row.key.first, CountsOf(row), row.of->kind);
  }
  return table.Make();
}

analyze::Table StepNamesTable(const Sides& sides, const std::vector<Role>& roles,
                              const std::vector<RoleSteps>& steps) {
  std::vector<Row> rows = RowsOf(sides, roles, steps, CountNames);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (x.of != y.of) return x.of < y.of;  // in their order
    if (x.changed() != y.changed()) return x.changed();
    return std::abs(x.b_ns() - x.a_ns()) > std::abs(y.b_ns() - y.a_ns());
  });
  analyze::TableRows table("diff_step_names", Text("process"), Text("layer"), Text("name"),
                           Text("operation"), Text("found"), Several<Integer>(kCounts),
                           Integer("a_ns"), Integer("b_ns"), Integer("change_ns"), Text("kind"));
  for (const Row& row : rows) {
    const char* found = row.tally.a.count == 0 ? "B" : row.tally.b.count == 0 ? "A" : "both";
    Place place = row.tally.a.place;
    place.Add(row.tally.b.place);
    table.Add(row.of->process, row.key.first, row.key.second, place.operation, found, CountsOf(row),
              row.a_ns(), row.b_ns(), row.b_ns() - row.a_ns(), row.of->kind);
  }
  return table.Make();
}

}  // namespace crosscut::compare
