#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/time/tables.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

struct PartRow {
  uint32_t process = 0, operation = 0, part = 0;
  int64_t count = 0, wall_ns = 0, corrected_ns = 0;
  Shares shares{};
};

// By operation and part.
using PartRows = std::map<std::pair<uint32_t, uint32_t>, PartRow>;

void CountParts(const trace::Trace& trace, const NameCodes& names, const trace::Process& process,
                trace::SpansAround* operations, PartRows* rows) {
  if (process.lead.value >= trace.tracks.size()) return;
  const trace::Spans& spans = trace.tracks[process.lead.value].spans;
  const auto code = [&](trace::SpanIndex span) { return names.codes[spans.name[span].value]; };
  trace::Continuations continued(spans);
  for (trace::SpanIndex span = 0; span < spans.size(); ++span) {
    const bool goes_on = continued.Has(span);
    const int64_t begin = spans.begin_ns[span];
    if (!code(span).part || begin < process.start_ns || begin >= process.end_ns) continue;
    const trace::SpanIndex around = operations->Of(process.lead, span);
    PartRow& row = (*rows)[{code(around).operation(), code(span).found()}];
    if (!goes_on) ++row.count;
  }
}

void AddProcess(const trace::Trace& trace, const Accounting& a, uint32_t process,
                trace::SpansAround* operations, std::vector<PartRow>* out) {
  const ProcessAccount& account = a.processes[process];
  PartRows rows;
  CountParts(trace, a.names, trace.processes[process], operations, &rows);
  std::map<uint32_t, int64_t> walls;  // of operations with parts
  for (const auto& [key, row] : rows) walls[key.first] = 0;
  for (const Cell& cell : account.overlap.cells) {
    if (cell.found != 0) walls[cell.operation] = 0;
  }
  for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
    const Cell& cell = account.overlap.cells[i];
    const auto wall = walls.find(cell.operation);
    if (wall == walls.end()) continue;
    wall->second += cell.ns;
    PartRow& row = rows[{cell.operation, cell.found}];
    row.wall_ns += cell.ns;
    row.shares[static_cast<size_t>(ShareOf(cell.layers))] += cell.ns;
    row.corrected_ns += account.correction.corrected_ns[i];
  }
  const auto first = static_cast<ptrdiff_t>(out->size());
  for (auto& [key, row] : rows) {
    row.process = process;
    std::tie(row.operation, row.part) = key;
    if (row.part == 0) row.count = kMissing;
    out->push_back(row);
  }
  std::stable_sort(out->begin() + first, out->end(), [&](const PartRow& x, const PartRow& y) {
    if (x.operation == y.operation) return x.wall_ns > y.wall_ns;
    const int64_t of_x = walls[x.operation], of_y = walls[y.operation];
    return of_x != of_y ? of_x > of_y : x.operation < y.operation;
  });
}

}  // namespace

Table OperationPartsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  std::vector<PartRow> rows;
  trace::SpansAround operations(trace, [&](trace::TrackId track, trace::SpanIndex span) {
    return a.names.codes[trace.tracks[track.value].spans.name[span].value].operation() != 0;
  });
  for (uint32_t p = 0; p < trace.processes.size(); ++p) AddProcess(trace, a, p, &operations, &rows);
  const auto text = [&](uint32_t number) { return trace.text(a.names.operations[number]); };
  TableRows table("operation_parts", Text("process"), Text("operation"), Text("part"),
                  Integer("count"), Integer("wall_ns"), Several<Integer>(kShareColumns),
                  Integer("corrected_ns"));
  for (const PartRow& r : rows) {
    table.Add(context.process_label({r.process}), text(r.operation), text(r.part), r.count,
              r.wall_ns, r.shares, r.corrected_ns);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
