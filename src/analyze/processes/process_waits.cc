#include "src/analyze/processes/process_waits.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;

// A span by track and number.
using Place = std::pair<uint32_t, trace::SpanIndex>;

int64_t EndOf(const trace::Trace& trace, Place at) {
  return trace.tracks[at.first].spans.end_ns[at.second];
}

bool IsWait(const trace::Trace& trace, const trace::Flow& flow) {
  if (flow.from == kNoSpan || flow.to == kNoSpan) return false;
  const trace::Track& from = trace.tracks[flow.from_track.value];
  const trace::Track& to = trace.tracks[flow.to_track.value];
  return from.process != to.process &&
         trace.name(to.spans.name[flow.to]).layer == trace::Layer::kComm;
}

// Each span that waited, with what it waited for: what ended last.
std::map<Place, Place> Waits(const trace::Trace& trace) {
  std::map<Place, Place> waits;
  for (const trace::Flow& flow : trace.flows) {
    if (!IsWait(trace, flow)) continue;
    const Place from{flow.from_track.value, flow.from};
    const auto [at, made] = waits.try_emplace({flow.to_track.value, flow.to}, from);
    const bool later =
        std::pair(EndOf(trace, from), from) > std::pair(EndOf(trace, at->second), at->second);
    if (!made && later) at->second = from;
  }
  return waits;
}

std::string_view OperationAround(const trace::Trace& trace, Place at) {
  const trace::Spans& spans = trace.tracks[at.first].spans;
  for (trace::SpanIndex span = at.second; span != kNoSpan; span = spans.parent[span]) {
    const trace::Name& name = trace.name(spans.name[span]);
    if (name.kind == trace::Kind::kOperation) return trace.text(name.text);
  }
  return "";
}

struct Row {
  uint32_t process, for_process;
  std::string_view operation, name, for_name;
  int64_t count = 0, wait_ns = 0, before_ns = 0, running_ns = 0, after_ns = 0;
};

std::string_view NameOf(const trace::Trace& trace, Place at) {
  return trace.text(trace.name(trace.tracks[at.first].spans.name[at.second]).text);
}

void Add(const trace::Trace& trace, Place wait, Place work, Row* row) {
  const trace::Spans& waiting = trace.tracks[wait.first].spans;
  const trace::Spans& working = trace.tracks[work.first].spans;
  const int64_t begin = waiting.begin_ns[wait.second], end = waiting.end_ns[wait.second];
  const int64_t from = std::clamp(working.begin_ns[work.second], begin, end);
  const int64_t to = std::clamp(working.end_ns[work.second], begin, end);
  ++row->count;
  row->wait_ns += end - begin;
  row->before_ns += from - begin;
  row->running_ns += to - from;
  row->after_ns += end - to;
}

std::vector<Row> RowsOf(const trace::Trace& trace) {
  using Key = std::tuple<uint32_t, std::string_view, std::string_view, uint32_t, std::string_view>;
  std::map<Key, Row> rows;
  for (const auto& [wait, work] : Waits(trace)) {
    const uint32_t process = trace.tracks[wait.first].process.value;
    const uint32_t for_process = trace.tracks[work.first].process.value;
    const std::string_view operation = OperationAround(trace, wait);
    const std::string_view name = NameOf(trace, wait), for_name = NameOf(trace, work);
    const Key key{process, operation, name, for_process, for_name};
    const auto at = rows.try_emplace(key, Row{process, for_process, operation, name, for_name});
    Add(trace, wait, work, &at.first->second);
  }
  std::vector<Row> out;
  for (const auto& [key, row] : rows) out.push_back(row);
  std::stable_sort(out.begin(), out.end(), [](const Row& a, const Row& b) {
    return std::pair(a.process, -a.wait_ns) < std::pair(b.process, -b.wait_ns);
  });
  return out;
}

}  // namespace

Table ProcessWaitsTable(const trace::Trace& trace, const Context& context) {
  const std::vector<Row> rows = RowsOf(trace);
  return TableOf("process_waits", rows)
      .Text("process", [&](const Row& row) { return context.process_label({row.process}); })
      .Text("operation", &Row::operation)
      .Text("name", &Row::name)
      .Text("for_process", [&](const Row& row) { return context.process_label({row.for_process}); })
      .Text("for_name", &Row::for_name)
      .Integer("count", &Row::count)
      .Integer("wait_ns", &Row::wait_ns)
      .Integer("before_ns", &Row::before_ns)
      .Integer("running_ns", &Row::running_ns)
      .Integer("after_ns", &Row::after_ns)
      .Make();
}

}  // namespace crosscut::analyze
