#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/time/tables.h"
#include "src/trace/namesakes.h"

namespace crosscut::analyze {
namespace {

struct OperationSum {
  int64_t count = 0, wall_ns = 0, total_ns = 0;
  Shares shares{};
  int64_t corrected_ns = 0, low_ns = 0, high_ns = 0;
};
using OperationSums = std::unordered_map<uint32_t, OperationSum>;

void CountOperations(const trace::Trace& trace, const Accounting& a, uint32_t process,
                     trace::Namesakes* open, OperationSums& sums) {
  const trace::Process& p = trace.processes[process];
  if (p.lead.value >= trace.tracks.size()) return;
  const trace::Spans& spans = trace.tracks[p.lead.value].spans;
  trace::Continuations continued(spans);
  open->Begin(spans);
  for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
    const bool goes_on = continued.Has(s);
    const uint32_t o = a.names.codes[spans.name[s].value].operation();
    const bool outermost = open->Enter(s, o == 0 ? trace::Namesakes::kNoKey : o) == trace::kNoSpan;
    const int64_t begin = std::max(p.start_ns, spans.begin_ns[s]);
    const int64_t end = std::min(p.end_ns, spans.end_ns[s]);
    if (o == 0 || begin > end || spans.begin_ns[s] >= p.end_ns) continue;
    OperationSum& sum = sums[o];
    if (outermost) sum.total_ns += end - begin - LengthWithin(a.events[process].pauses, begin, end);
    if (!goes_on && spans.begin_ns[s] >= p.start_ns) ++sum.count;
  }
}

OperationSums SumOperations(const trace::Trace& trace, const Accounting& a, uint32_t process,
                            trace::Namesakes* open) {
  const ProcessAccount& account = a.processes[process];
  OperationSums sums;
  for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
    const Cell& cell = account.overlap.cells[i];
    OperationSum& sum = sums[cell.operation];
    sum.wall_ns += cell.ns;
    sum.shares[static_cast<size_t>(ShareOf(cell.layers))] += cell.ns;
    sum.corrected_ns += account.correction.corrected_ns[i];
    sum.low_ns += account.low.corrected_ns[i];
    sum.high_ns += account.high.corrected_ns[i];
  }
  CountOperations(trace, a, process, open, sums);
  return sums;
}

// Operations of a process, the longest first.
std::vector<uint32_t> Ranked(const OperationSums& sums) {
  std::vector<uint32_t> order;
  for (const auto& [operation, sum] : sums) order.push_back(operation);
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    const int64_t a = sums.at(x).wall_ns, b = sums.at(y).wall_ns;
    return a != b ? a > b : x < y;
  });
  return order;
}

std::string OperationText(const trace::Trace& trace, const Accounting& a, uint32_t operation) {
  return std::string(trace.text(a.names.operations[operation]));
}

// Cells by rank of their operation, then the longest first.
std::vector<uint32_t> CellOrder(const std::vector<Cell>& cells,
                                const std::vector<uint32_t>& ranked) {
  std::unordered_map<uint32_t, size_t> rank;
  for (size_t i = 0; i < ranked.size(); ++i) rank[ranked[i]] = i;
  std::vector<uint32_t> order(cells.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    const Cell &a = cells[x], &b = cells[y];
    if (a.operation != b.operation) return rank[a.operation] < rank[b.operation];
    return a.ns != b.ns ? a.ns > b.ns : a.layers < b.layers;
  });
  return order;
}

// The cells of all parts of the window together, by `operation_of(cell)` and layers; their probe_ps
// holds the corrected time.
template <class OperationOf>
Cells WholeWindow(const ProcessAccount& account, OperationOf operation_of) {
  Cells sums;
  for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
    const Cell& cell = account.overlap.cells[i];
    sums.Add(operation_of(cell), cell.layers, cell.ns, account.correction.corrected_ns[i]);
  }
  return sums;
}

}  // namespace

Table OverlapTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("overlap", Text("process"), Text("operation"), Text("layers"), Integer("device"),
                  Integer("ns"), Integer("corrected_ns"));
  trace::Namesakes open;  // by operation
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Cells sums = WholeWindow(a.processes[p], [](const Cell& cell) { return cell.operation; });
    for (const uint32_t i : CellOrder(sums.all(), Ranked(SumOperations(trace, a, p, &open)))) {
      const Cell& cell = sums.all()[i];
      table.Add(context.process_label({p}), OperationText(trace, a, cell.operation),
                LayersText(cell.layers), DeviceBusy(cell.layers), cell.ns, cell.probe_ps);
    }
  }
  return table.Make();
}

Table OperationsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("operations", Text("process"), Text("operation"), Integer("count"),
                  Integer("wall_ns"), Several<Integer>(kShareColumns), Integer("overhead_ns"),
                  Integer("corrected_ns"), Integer("corrected_low_ns"),
                  Integer("corrected_high_ns"), Integer("run_delay_ns"), Integer("total_ns"));
  trace::Namesakes open;  // by operation
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const OperationSums sums = SumOperations(trace, a, p, &open);
    for (const uint32_t o : Ranked(sums)) {
      const OperationSum& sum = sums.at(o);
      const Bounds bounds =
          OfUnrecordedRun(sum.corrected_ns, {sum.low_ns, sum.high_ns}, a.processes[p].spread);
      table.Add(context.process_label({p}), OperationText(trace, a, o), sum.count, sum.wall_ns,
                sum.shares, sum.wall_ns - sum.corrected_ns, sum.corrected_ns, bounds.low,
                bounds.high, kMissing, o == 0 ? kMissing : sum.total_ns);
    }
  }
  return table.Make();
}

Table LayersTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("layers", Text("process"), Text("layers"), Integer("device"), Integer("ns"),
                  Integer("corrected_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Cells sums = WholeWindow(a.processes[p], [](const Cell&) { return 0; });
    for (const uint32_t i : CellOrder(sums.all(), {0})) {
      const Cell& cell = sums.all()[i];
      table.Add(context.process_label({p}), LayersText(cell.layers), DeviceBusy(cell.layers),
                cell.ns, cell.probe_ps);
    }
  }
  return table.Make();
}

Table LayerTotalsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("layer_totals", Text("process"), Text("layer"), Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (int i = 1; i < trace::kLayerCount; ++i) {
      const auto one = static_cast<trace::Layer>(i);
      const int64_t sum =
          Inclusive(context.Shared<Accounting>().processes[p].overlap.cells, Bit(one));
      if (sum == 0) continue;
      table.Add(context.process_label({p}), trace::LayerName(one), sum);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
