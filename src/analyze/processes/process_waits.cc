#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/processes/tables.h"
#include "src/trace/spans_around.h"

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

// What a span waited for: the part of it that an arrow left, the last one of a coroutine's, and
// when it began as a whole; kMissing: not known.
struct Work {
  Place last;
  int64_t begin_ns = kMissing;
};

// The arrow of a call has the id of its result's but for the lowest bit, which is 0.
class Calls {
 public:
  explicit Calls(const trace::Trace& trace) : trace_(trace) {
    for (const trace::Flow& flow : trace.flows) {
      if (flow.to != kNoSpan && (flow.id & 1) == 0) calls_.emplace(flow.id, &flow);
    }
  }
  // When that began which the arrow of a result leaves.
  int64_t BeginOf(const trace::Flow& result) const {
    const trace::Track& track = trace_.tracks[result.from_track.value];
    const trace::Name& name = trace_.name(track.spans.name[result.from]);
    const auto call = calls_.find(result.id & ~uint64_t{1});
    if (call == calls_.end()) {  // what nobody called is whole
      return name.scope() ? kMissing : track.spans.begin_ns[result.from];
    }
    const trace::Flow& to = *call->second;
    const trace::Track& called = trace_.tracks[to.to_track.value];
    if (called.process != track.process) return kMissing;
    if (called.spans.name[to.to] != track.spans.name[result.from]) return kMissing;
    // Nothing ends before it begins, whatever arrows say.
    const int64_t begin = called.spans.begin_ns[to.to];
    return begin <= track.spans.end_ns[result.from] ? begin : kMissing;
  }

 private:
  const trace::Trace& trace_;
  std::unordered_map<uint64_t, const trace::Flow*> calls_;
};

// Each span that waited, with what it waited for: what ended last.
std::map<Place, Work> Waits(const trace::Trace& trace) {
  std::map<Place, Work> waits;
  const Calls calls(trace);
  for (const trace::Flow& flow : trace.flows) {
    if (!IsWait(trace, flow)) continue;
    const Place from{flow.from_track.value, flow.from};
    Work& work = waits.try_emplace({flow.to_track.value, flow.to}, Work{from}).first->second;
    const auto order = [&](Place at) { return std::pair(EndOf(trace, at), at); };
    if (order(from) < order(work.last)) continue;
    work = {from, calls.BeginOf(flow)};
  }
  return waits;
}

struct Row {
  uint32_t process, for_process;
  std::string_view operation, name, for_name;
  int64_t count = 0, wait_ns = 0, before_ns = 0, after_ns = 0;  // before_ns: kMissing, not known

  int64_t running_ns() const {
    return before_ns == kMissing ? kMissing : wait_ns - before_ns - after_ns;
  }
};

std::string_view NameOf(const trace::Trace& trace, Place at) {
  return trace.span_text({at.first}, at.second);
}

void Add(const trace::Trace& trace, Place wait, const Work& work, Row* row) {
  const trace::Spans& spans = trace.tracks[wait.first].spans;
  const int64_t begin = spans.begin_ns[wait.second], end = spans.end_ns[wait.second];
  ++row->count;
  row->wait_ns += end - begin;
  row->after_ns += end - std::clamp(EndOf(trace, work.last), begin, end);
  if (row->before_ns == kMissing) return;
  if (work.begin_ns == kMissing) {
    row->before_ns = kMissing;
  } else {
    row->before_ns += std::clamp(work.begin_ns, begin, end) - begin;
  }
}

std::vector<Row> RowsOf(const trace::Trace& trace) {
  using Key = std::tuple<uint32_t, std::string_view, std::string_view, uint32_t, std::string_view>;
  std::map<Key, Row> rows;
  trace::SpansAround operations(trace, [&](trace::TrackId track, trace::SpanIndex span) {
    const trace::Spans& spans = trace.tracks[track.value].spans;
    return trace.name(spans.name[span]).kind == trace::Kind::kOperation;
  });
  for (const auto& [wait, work] : Waits(trace)) {
    const uint32_t process = trace.tracks[wait.first].process.value;
    const uint32_t for_process = trace.tracks[work.last.first].process.value;
    const trace::SpanIndex around = operations.Of({wait.first}, wait.second);
    const std::string_view operation = around == kNoSpan ? "" : NameOf(trace, {wait.first, around});
    const std::string_view name = NameOf(trace, wait), for_name = NameOf(trace, work.last);
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
  TableRows table("process_waits", Text("process"), Text("operation"), Text("name"),
                  Text("for_process"), Text("for_name"), Integer("count"), Integer("wait_ns"),
                  Integer("before_ns"), Integer("running_ns"), Integer("after_ns"));
  for (const Row& row : RowsOf(trace)) {
    table.Add(context.process_label({row.process}), row.operation, row.name,
              context.process_label({row.for_process}), row.for_name, row.count, row.wait_ns,
              row.before_ns, row.running_ns(), row.after_ns);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
