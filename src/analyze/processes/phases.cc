#include "src/analyze/processes/phases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/time/metrics.h"

namespace crosscut::analyze {
namespace {

struct PhaseRow {
  uint32_t process = 0;
  trace::StringId name;
  int64_t begin_ns = 0, end_ns = 0;
  Shares shares{};

  int64_t wall_ns() const {
    int64_t sum = 0;
    for (const int64_t ns : shares) sum += ns;
    return sum;
  }
};

// The window in parts: phases, and what lies between them.
std::vector<PhaseRow> PartsOf(const trace::Process& process, uint32_t number) {
  std::vector<trace::Interval> phases;
  for (const trace::Phase& phase : process.phases) phases.push_back({phase.begin_ns, phase.end_ns});
  std::vector<uint32_t> origins;
  phases = Disjoint(phases, {process.start_ns, process.end_ns}, &origins);
  std::vector<PhaseRow> rows;
  int64_t from = process.start_ns;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (from < phases[i].begin_ns) rows.push_back({number, {}, from, phases[i].begin_ns, {}});
    rows.push_back(
        {number, process.phases[origins[i]].name, phases[i].begin_ns, phases[i].end_ns, {}});
    from = phases[i].end_ns;
  }
  if (from < process.end_ns) rows.push_back({number, {}, from, process.end_ns, {}});
  return rows;
}

void Fill(const trace::Trace& trace, const Accounting& accounting, uint32_t process,
          std::vector<PhaseRow>& rows) {
  if (rows.size() == 1) {  // the cells know it already
    for (const Cell& cell : accounting.processes[process].overlap.cells) {
      rows[0].shares[static_cast<size_t>(ShareOf(cell.layers))] += cell.ns;
    }
    return;
  }
  size_t at = 0;
  VisitKeyIntervals(trace, accounting, {process}, [&](const KeyInterval& now) {
    while (rows[at].end_ns <= now.begin_ns) ++at;
    for (size_t i = at; i < rows.size() && rows[i].begin_ns < now.end_ns; ++i) {
      rows[i].shares[static_cast<size_t>(ShareOf(now.layers))] +=
          std::min(now.end_ns, rows[i].end_ns) - std::max(now.begin_ns, rows[i].begin_ns);
    }
  });
}

// The stretch over which progress is known.
struct Stretch {
  int64_t begin_ns = 0, end_ns = 0;
  double from = 0, to = 0;
};

bool StretchOf(const Context& context, uint32_t process, Stretch* out) {
  const trace::Process& owner = context.trace().processes[process];
  *out = {owner.start_ns, owner.start_ns, 0, 0};
  const trace::CounterSeries* series = context.counter({process}, kProgressCounter);
  if (series == nullptr || series->at_ns.empty()) return false;
  const auto fraction = [&](size_t i) {
    return static_cast<double>(series->value[i]) / static_cast<double>(kProgressWhole);
  };
  const size_t last = series->at_ns.size() - 1;
  if (last > 0) *out = {series->at_ns[0], 0, fraction(0), 0};
  out->end_ns = series->at_ns[last];
  out->to = fraction(last);
  return out->to > out->from && out->end_ns > out->begin_ns;
}

// By operation; the first is all of them.
using Sums = std::map<uint32_t, Metrics>;

Sums SumsIn(const trace::Trace& trace, const Accounting& accounting, uint32_t process,
            const Stretch& stretch) {
  Sums sums;
  VisitKeyIntervals(trace, accounting, {process}, [&](const KeyInterval& now) {
    const int64_t ns =
        std::min(now.end_ns, stretch.end_ns) - std::max(now.begin_ns, stretch.begin_ns);
    if (ns > 0) sums[now.operation].Add(now.layers, ns);
  });
  return sums;
}

struct ProgressRow {
  uint32_t process;
  std::string operation;
  Stretch stretch;
  int64_t recorded_ns;
  int64_t excluded_ns;                     // extrapolated; kMissing for single operations
  std::array<int64_t, kMetricClasses> ns;  // extrapolated

  int64_t total_ns() const {
    int64_t sum = 0;
    for (const int64_t part : ns) AddTo(&sum, part);
    return sum;
  }
};

// What a moment's progress makes of it may be more than a cell holds.
int64_t Whole(int64_t ns, const Stretch& stretch) {
  const double whole = static_cast<double>(ns) / (stretch.to - stretch.from);
  return whole < 0x1p62 ? std::llround(whole) : kTooMuch;
}

void AddProgress(const Context& context, uint32_t process, std::vector<ProgressRow>& rows) {
  const trace::Trace& trace = context.trace();
  Stretch stretch;
  if (!StretchOf(context, process, &stretch)) return;
  const Accounting& a = context.Shared<Accounting>();
  const size_t first = rows.size();
  const int64_t paused = LengthWithin(a.events[process].pauses, stretch.begin_ns, stretch.end_ns);
  rows.push_back({process, "(all)", stretch, 0, Whole(paused, stretch), {}});
  for (const auto& [operation, sum] : SumsIn(trace, a, process, stretch)) {
    ProgressRow row = {process,  std::string(trace.text(a.names.operations[operation])),
                       stretch,  sum.total_ns(),
                       kMissing, {}};
    for (size_t c = 0; c < kMetricClasses; ++c) {
      row.ns[c] = Whole(sum.ns[c], stretch);
      AddTo(&rows[first].ns[c], row.ns[c]);
    }
    rows[first].recorded_ns += row.recorded_ns;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(first) + 1, rows.end(),
                   [](const auto& x, const auto& y) { return x.total_ns() > y.total_ns(); });
}

}  // namespace

Table PhasesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("phases", Text("process"), Text("parent"), Text("phase"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("wall_ns"), Several<Integer>(kShareColumns),
                  Integer("any_host_ns"), Integer("any_device_ns"), Integer("excluded_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    std::vector<PhaseRow> parts = PartsOf(trace.processes[p], p);
    if (!parts.empty()) Fill(trace, a, p, parts);
    for (const PhaseRow& r : parts) {
      const auto of = [&](Share share) { return r.shares[static_cast<size_t>(share)]; };
      table.Add(context.process_label({p}), context.process_label(trace.processes[p].parent),
                trace.text(r.name), r.begin_ns, r.end_ns, r.wall_ns(), r.shares,
                of(Share::kHost) + of(Share::kOverlap), of(Share::kOverlap) + of(Share::kDevice),
                LengthWithin(a.events[p].pauses, r.begin_ns, r.end_ns));
    }
  }
  return table.Make();
}

Table ProgressTable(const trace::Trace& trace, const Context& context) {
  std::vector<ProgressRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    AddProgress(context, p, rows);
  }
  TableRows table("progress", Text("process"), Text("operation"), Integer("begin_ns"),
                  Integer("end_ns"), Real("from_fraction"), Real("to_fraction"),
                  Integer("recorded_ns"), Integer("total_ns"), Integer("python_ns"),
                  Integer("framework_cpp_ns"), Integer("cuda_cpp_ns"), Integer("gpu_ns"),
                  Integer("other_ns"), Integer("excluded_ns"));
  for (const ProgressRow& r : rows) {
    const auto of = [&](MetricClass c) { return CellOf(r.ns[static_cast<size_t>(c)]); };
    table.Add(context.process_label({r.process}), r.operation, r.stretch.begin_ns, r.stretch.end_ns,
              r.stretch.from, r.stretch.to, r.recorded_ns, CellOf(r.total_ns()),
              of(MetricClass::kPython), of(MetricClass::kFrameworkCpp), of(MetricClass::kCudaCpp),
              of(MetricClass::kGpu), of(MetricClass::kOther), CellOf(r.excluded_ns));
  }
  return table.Make();
}

}  // namespace crosscut::analyze
