#include "src/analyze/processes/phases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/columns.h"
#include "src/analyze/time/metrics.h"

namespace crosscut::analyze {
namespace {

struct PhaseRow {
  uint32_t process = 0;
  trace::StringId name;
  int64_t begin_ns = 0, end_ns = 0;
  std::array<int64_t, kShareCount> shares{};

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

int64_t PausedIn(const ProcessEvents& events, int64_t begin_ns, int64_t end_ns) {
  int64_t sum = 0;
  for (const trace::Interval& pause : events.pauses) {
    sum +=
        std::max<int64_t>(0, std::min(pause.end_ns, end_ns) - std::max(pause.begin_ns, begin_ns));
  }
  return sum;
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
    for (const int64_t part : ns) sum += part;
    return sum;
  }
};

int64_t Whole(int64_t ns, const Stretch& stretch) {
  return std::llround(static_cast<double>(ns) / (stretch.to - stretch.from));
}

void AddProgress(const Context& context, uint32_t process, std::vector<ProgressRow>& rows) {
  const trace::Trace& trace = context.trace();
  Stretch stretch;
  if (!StretchOf(context, process, &stretch)) return;
  const Accounting& a = context.Shared<Accounting>();
  const size_t first = rows.size();
  const int64_t paused = PausedIn(a.events[process], stretch.begin_ns, stretch.end_ns);
  rows.push_back({process, "(all)", stretch, 0, Whole(paused, stretch), {}});
  for (const auto& [operation, sum] : SumsIn(trace, a, process, stretch)) {
    ProgressRow row = {process,  std::string(trace.text(a.names.operations[operation])),
                       stretch,  sum.total_ns(),
                       kMissing, {}};
    for (size_t c = 0; c < kMetricClasses; ++c) {
      row.ns[c] = Whole(sum.ns[c], stretch);
      rows[first].ns[c] += row.ns[c];
    }
    rows[first].recorded_ns += row.recorded_ns;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(first) + 1, rows.end(),
                   [](const auto& x, const auto& y) { return x.total_ns() > y.total_ns(); });
}

}  // namespace

Table PhasesTable(const trace::Trace& trace, const Context& context) {
  static constexpr const char* kShares[kShareCount] = {"host_ns", "overlap_ns", "device_ns",
                                                       "idle_ns", "unknown_ns", "control_ns"};
  const Accounting& a = context.Shared<Accounting>();
  std::vector<PhaseRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    std::vector<PhaseRow> parts = PartsOf(trace.processes[p], p);
    if (!parts.empty()) Fill(trace, a, p, parts);
    rows.insert(rows.end(), parts.begin(), parts.end());
  }
  TableOf table("phases", rows);
  table.Text("process", [&](const PhaseRow& r) { return context.process_label({r.process}); })
      .Text("parent",
            [&](const PhaseRow& r) {
              return context.process_label(trace.processes[r.process].parent);
            })
      .Text("phase", [&](const PhaseRow& r) { return trace.text(r.name); })
      .Integer("begin_ns", &PhaseRow::begin_ns)
      .Integer("end_ns", &PhaseRow::end_ns)
      .Integer("wall_ns", &PhaseRow::wall_ns);
  for (size_t i = 0; i < kShareCount; ++i) {
    table.Integer(kShares[i], [i](const PhaseRow& r) { return r.shares[i]; });
  }
  const auto sum_of = [](Share a, Share b) {
    return [=](const PhaseRow& r) {
      return r.shares[static_cast<size_t>(a)] + r.shares[static_cast<size_t>(b)];
    };
  };
  return table.Integer("any_host_ns", sum_of(Share::kHost, Share::kOverlap))
      .Integer("any_device_ns", sum_of(Share::kOverlap, Share::kDevice))
      .Integer(
          "excluded_ns",
          [&](const PhaseRow& r) { return PausedIn(a.events[r.process], r.begin_ns, r.end_ns); })
      .Make();
}

Table ProgressTable(const trace::Trace& trace, const Context& context) {
  std::vector<ProgressRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    AddProgress(context, p, rows);
  }
  static constexpr std::pair<const char*, MetricClass> kClasses[] = {
      {"python_ns", MetricClass::kPython},
      {"framework_cpp_ns", MetricClass::kFrameworkCpp},
      {"cuda_cpp_ns", MetricClass::kCudaCpp},
      {"gpu_ns", MetricClass::kGpu},
      {"other_ns", MetricClass::kOther}};
  Reals from, to;
  for (const ProgressRow& row : rows) {
    from.push_back(row.stretch.from);
    to.push_back(row.stretch.to);
  }
  TableOf table("progress", rows);
  table.Text("process", [&](const ProgressRow& r) { return context.process_label({r.process}); })
      .Text("operation", &ProgressRow::operation)
      .Integer("begin_ns", [](const ProgressRow& r) { return r.stretch.begin_ns; })
      .Integer("end_ns", [](const ProgressRow& r) { return r.stretch.end_ns; })
      .Integer("recorded_ns", &ProgressRow::recorded_ns)
      .Integer("total_ns", &ProgressRow::total_ns);
  for (const auto& [name, which] : kClasses) {
    table.Integer(name, [c = static_cast<size_t>(which)](const ProgressRow& r) { return r.ns[c]; });
  }
  table.Integer("excluded_ns", &ProgressRow::excluded_ns);
  Table made = table.Make();
  made.columns.insert(made.columns.begin() + 4,
                      {MakeColumn("from_fraction", from), MakeColumn("to_fraction", to)});
  return made;
}

}  // namespace crosscut::analyze
