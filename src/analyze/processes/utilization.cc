#include "src/analyze/processes/utilization.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMostRows = 600;  // of a process

struct Row {
  int64_t begin_ns, end_ns;
  int64_t cpu_ns;
  int64_t resident_bytes = kMissing, peak_bytes = kMissing, device_busy_ns = kMissing;
};

std::vector<Row> RowsOf(const trace::CounterSeries& cpu) {
  std::vector<Row> rows;
  const size_t last = cpu.at_ns.size() - 1;  // nobody counts without a value
  const size_t together = std::max<size_t>(1, (last + kMostRows - 1) / kMostRows);
  for (size_t from = 0; from < last; from += together) {
    const size_t to = std::min(from + together, last);
    if (cpu.at_ns[to] <= cpu.at_ns[from]) continue;
    rows.push_back({cpu.at_ns[from], cpu.at_ns[to], cpu.value[to] - cpu.value[from]});
  }
  return rows;
}

// Memory is looked at just before the CPU time, so it lies in the part that this ends. The first
// look opens the first part.
void AddMost(const trace::CounterSeries* memory, int64_t Row::*most, std::vector<Row>& rows) {
  if (memory == nullptr) return;
  auto row = rows.begin();
  for (size_t i = 0; i < memory->at_ns.size(); ++i) {
    while (row != rows.end() && row->end_ns < memory->at_ns[i]) ++row;
    if (row == rows.end()) return;
    (*row).*most = std::max((*row).*most, memory->value[i]);
  }
}

void AddDevice(const ProcessWork& work, std::vector<Row>& rows) {
  const std::vector<trace::Interval> busy =
      BusyIntervals(work, {rows.front().begin_ns, rows.back().end_ns});
  auto next = busy.begin();
  for (Row& row : rows) {
    row.device_busy_ns = 0;
    for (; next != busy.end() && next->begin_ns < row.end_ns; ++next) {
      row.device_busy_ns += std::max<int64_t>(
          0, std::min(next->end_ns, row.end_ns) - std::max(next->begin_ns, row.begin_ns));
      if (next->end_ns > row.end_ns) break;  // goes on in the next row
    }
  }
}

double Percent(int64_t part, const Row& row) {
  if (part == kMissing) return std::numeric_limits<double>::quiet_NaN();
  return 100 * static_cast<double>(part) / static_cast<double>(row.end_ns - row.begin_ns);
}

std::vector<Row> Compute(const Context& context, trace::ProcessId process) {
  const trace::CounterSeries* cpu = context.counter(process, kCpuCounter);
  if (cpu == nullptr) return {};
  std::vector<Row> rows = RowsOf(*cpu);
  if (rows.empty()) return rows;
  AddMost(context.counter(process, kResidentCounter), &Row::resident_bytes, rows);
  AddMost(context.counter(process, kPeakCounter), &Row::peak_bytes, rows);
  if (const ProcessWork* work = context.Shared<DeviceWork>().of(process)) AddDevice(*work, rows);
  return rows;
}

}  // namespace

Table UtilizationTable(const trace::Trace& trace, const Context& context) {
  TableRows table("utilization", Text("process"), Integer("begin_ns"), Integer("end_ns"),
                  Integer("cpu_ns"), Real("cpu_percent"), Integer("resident_bytes"),
                  Integer("peak_bytes"), Integer("device_busy_ns"), Real("device_percent"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const Row& row : Compute(context, {p})) {
      table.Add(context.process_label({p}), row.begin_ns, row.end_ns, row.cpu_ns,
                Percent(row.cpu_ns, row), row.resident_bytes, row.peak_bytes, row.device_busy_ns,
                Percent(row.device_busy_ns, row));
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
