#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/quantiles.h"
#include "src/analyze/steps/tables.h"

namespace crosscut::analyze {
namespace {

struct RequestRow {
  uint32_t process = 0;
  trace::StringId name;
  bool task = false;
  int64_t count = 0, open = 0, total_ns = 0;
  int64_t mean_ns = kMissing, p50_ns = kMissing, p90_ns = kMissing, p99_ns = kMissing;
  int64_t max_ns = kMissing, running_ns = kMissing, waiting_ns = kMissing;
  double concurrency = 0, per_second = 0;
  int64_t most = 0;
};

// Requires: `requests` are in order of begin, and there is one.
void TellConcurrency(const std::vector<trace::Request>& requests, RequestRow* row) {
  std::vector<int64_t> ends;
  int64_t in_all = 0, served = 0;
  for (const trace::Request& request : requests) {
    ends.push_back(request.end_ns);
    in_all += request.end_ns - request.begin_ns;
  }
  std::sort(ends.begin(), ends.end());
  for (const trace::Interval& time : trace::Served(requests)) served += time.end_ns - time.begin_ns;
  row->concurrency = served == 0 ? 1 : static_cast<double>(in_all) / static_cast<double>(served);
  size_t ended = 0;
  for (size_t begun = 0; begun < requests.size(); ++begun) {
    while (ends[ended] <= requests[begun].begin_ns && ended < begun) ++ended;
    row->most = std::max(row->most, static_cast<int64_t>(begun + 1 - ended));
  }
}

// Likewise.
RequestRow RowOf(uint32_t process, const std::vector<trace::Request>& requests, double window_s) {
  RequestRow row = {process, requests[0].name, requests[0].task};
  row.count = static_cast<int64_t>(requests.size());
  std::vector<int64_t> lengths;
  int64_t known = 0, running = 0, waiting = 0;
  for (const trace::Request& request : requests) {
    if (request.open) {
      ++row.open;
      continue;
    }
    const int64_t length = request.end_ns - request.begin_ns;
    lengths.push_back(length);
    row.total_ns += length;
    if (request.running_ns < 0) continue;
    const int64_t ran = std::min(request.running_ns, length);  // two clocks
    ++known;
    running += ran;
    waiting += length - ran;
  }
  if (!lengths.empty()) {
    row.mean_ns = row.total_ns / static_cast<int64_t>(lengths.size());
    row.p50_ns = Quantile(lengths, 50);
    row.p90_ns = Quantile(lengths, 90);
    row.p99_ns = Quantile(lengths, 99);
    row.max_ns = *std::max_element(lengths.begin(), lengths.end());
  }
  if (known > 0) {
    row.running_ns = running / known;
    row.waiting_ns = waiting / known;
  }
  if (window_s > 0) row.per_second = static_cast<double>(row.count) / window_s;
  TellConcurrency(requests, &row);
  return row;
}

}  // namespace

Table RequestsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& accounting = context.Shared<Accounting>();
  std::vector<RequestRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    std::map<std::pair<uint32_t, bool>, std::vector<trace::Request>> by_name;
    int64_t last_ns = INT64_MIN;
    for (const trace::Request& request : accounting.requests[p]) {
      by_name[{request.name.value, request.task}].push_back(request);
      last_ns = std::max(last_ns, request.end_ns);
    }
    const auto first = static_cast<ptrdiff_t>(rows.size());
    for (const auto& [name, requests] : by_name) {
      const int64_t first_ns = accounting.requests[p].front().begin_ns;
      rows.push_back(RowOf(p, requests, static_cast<double>(last_ns - first_ns) * 1e-9));
    }
    std::stable_sort(
        rows.begin() + first, rows.end(),
        [](const RequestRow& a, const RequestRow& b) { return a.total_ns > b.total_ns; });
  }
  TableRows table("requests", Text("process"), Text("request"), Text("what"), Integer("count"),
                  Integer("open"), Integer("total_ns"), Integer("mean_ns"), Integer("p50_ns"),
                  Integer("p90_ns"), Integer("p99_ns"), Integer("max_ns"), Integer("running_ns"),
                  Integer("waiting_ns"), Integer("most"), Real("concurrency"), Real("per_second"));
  for (const RequestRow& r : rows) {
    table.Add(context.process_label({r.process}), trace.text(r.name), r.task ? "task" : "request",
              r.count, r.open, r.total_ns, r.mean_ns, r.p50_ns, r.p90_ns, r.p99_ns, r.max_ns,
              r.running_ns, r.waiting_ns, r.most, r.concurrency, r.per_second);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
