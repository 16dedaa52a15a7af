#include "src/analyze/collectives/tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/analyze/amounts.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/columns.h"
#include "src/trace/intervals.h"
#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

using trace::Interval;
using trace::StringId;

int64_t OrMissing(int64_t number) { return number < 0 ? kMissing : number; }

struct Straggler {
  int64_t collectives = 0, last = 0, unmatched = 0;
  std::vector<Interval> waited;
  std::map<uint32_t, std::vector<Interval>> made_wait;  // by who waited
};

Interval WaitOf(const CollectiveCall& call, int64_t waited) {
  return {call.begin_ns, call.begin_ns + waited};
}

const char* KindOf(const CollectiveCall& call) {
  return call.pair ? "pair" : call.rooted ? "rooted" : "all";
}

}  // namespace

Table CollectiveCallsTable(const trace::Trace& trace, const Context& context) {
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  std::vector<int64_t> ranks;
  for (const trace::Process& process : trace.processes) {
    ranks.push_back(trace::RankOf(trace, process).rank);
  }
  std::vector<int64_t> waited(calls.size(), kMissing);
  std::vector<trace::ProcessId> last(calls.size());
  for (const Collective& c : context.Shared<Collectives>().matched) {
    for (size_t i = 0; i < c.calls.size(); ++i) {
      waited[c.calls[i]] = c.waited_ns[i];
      last[c.calls[i]] = calls[c.calls[c.last]].process;
    }
  }
  TableRows table("collective_calls", Text("process"), Integer("rank"), Text("group"), Text("name"),
                  Text("kind"), Integer("seq"), Integer("step"), Text("operation"), Text("place"),
                  Integer("begin_ns"), Integer("ns"), Integer("waited_ns"), Text("last"),
                  Integer("bytes"), Integer("peer"), Integer("group_size"));
  for (size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall& call = calls[i];
    table.Add(context.process_label(call.process), OrMissing(ranks[call.process.value]),
              trace.text(call.group), trace.text(call.name), KindOf(call), OrMissing(call.sequence),
              OrMissing(call.step), trace.text(call.operation), call.device ? "device" : "host",
              call.begin_ns, call.duration(), waited[i], context.process_label(last[i]),
              OrMissing(call.bytes), OrMissing(call.peer), OrMissing(call.group_size));
  }
  return table.Make();
}

Table CollectivesTable(const trace::Trace& trace, const Context& context) {
  struct Row {
    int64_t count = 0, ranks = 0, bytes = 0, transfer = 0, skew = 0, waited = 0;
    std::map<uint32_t, int64_t> last;  // by process
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Row> by_name;  // group, name, job
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  for (const Collective& c : context.Shared<Collectives>().matched) {
    const CollectiveCall& first = calls[c.calls[0]];
    Row& row = by_name[{first.group.value, first.name.value, c.job.value}];
    int64_t bytes = -1;  // the most that a rank states
    for (const uint32_t call : c.calls) bytes = std::max(bytes, calls[call].bytes);
    ++row.count;
    row.ranks = std::max(row.ranks, static_cast<int64_t>(c.calls.size()));
    AddTo(&row.bytes, bytes < 0 ? kTooMuch : bytes);
    row.transfer += c.transfer_ns;
    row.skew += c.skew_ns;
    for (const int64_t ns : c.waited_ns) row.waited += ns;
    ++row.last[calls[c.calls[c.last]].process.value];
  }
  TableRows table("collectives", Text("group"), Text("name"), Integer("count"), Integer("ranks"),
                  Integer("bytes"), Integer("transfer_ns"), Integer("skew_ns"),
                  Integer("waited_ns"), Text("last"), Integer("last_count"), Real("bytes_per_s"),
                  Text("job"));
  for (const auto& [key, row] : by_name) {
    const auto top = std::max_element(row.last.begin(), row.last.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
    const auto& [group, name, job] = key;
    const int64_t bytes = CellOf(row.bytes);
    const double rate = bytes > 0 && row.transfer > 0 ? static_cast<double>(row.bytes) * 1e9 /
                                                            static_cast<double>(row.transfer)
                                                      : std::numeric_limits<double>::quiet_NaN();
    table.Add(trace.text({group}), trace.text({name}), row.count, row.ranks, bytes, row.transfer,
              row.skew, row.waited, context.process_label({top->first}), top->second, rate,
              context.process_label({job}));
  }
  return table.Make();
}

Table StragglersTable(const trace::Trace& trace, const Context& context) {
  std::map<std::pair<uint32_t, uint32_t>, Straggler> rows;  // by process, group
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  for (const Collective& c : context.Shared<Collectives>().matched) {
    const CollectiveCall& last = calls[c.calls[c.last]];
    Straggler& straggler = rows[{last.process.value, last.group.value}];
    ++straggler.last;
    for (size_t i = 0; i < c.calls.size(); ++i) {
      const CollectiveCall& call = calls[c.calls[i]];
      Straggler& row = rows[{call.process.value, call.group.value}];
      ++row.collectives;
      if (c.waited_ns[i] == 0) continue;
      row.waited.push_back(WaitOf(call, c.waited_ns[i]));
      straggler.made_wait[call.process.value].push_back(WaitOf(call, c.waited_ns[i]));
    }
  }
  for (const Unmatched& u : context.Shared<Collectives>().unmatched) {
    const auto row = rows.find({u.process.value, u.group.value});
    if (row != rows.end() && u.why != NotMatched::kPair) row->second.unmatched += u.count;
  }
  TableRows table("stragglers", Text("process"), Text("group"), Integer("collectives"),
                  Integer("waited_ns"), Integer("last_count"), Integer("made_wait_ns"),
                  Integer("unmatched"));
  for (auto& [key, row] : rows) {
    int64_t made = 0;
    for (auto& [who, intervals] : row.made_wait) made += LengthOf(UnionOf(intervals));
    table.Add(context.process_label({key.first}), trace.text({key.second}), row.collectives,
              LengthOf(UnionOf(row.waited)), row.last, made, row.unmatched);
  }
  return table.Make();
}

Table StragglerStepsTable(const trace::Trace&, const Context& context) {
  struct Step {
    int64_t collectives = 0;
    std::map<uint32_t, std::vector<Interval>> waited;                    // by who waited
    std::map<uint32_t, std::map<uint32_t, std::vector<Interval>>> made;  // by for whom, who
    std::map<uint32_t, int64_t> last;
  };
  std::map<std::pair<int64_t, uint32_t>, Step> steps;  // number, job
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  for (const Collective& c : context.Shared<Collectives>().matched) {
    const CollectiveCall& last = calls[c.calls[c.last]];
    if (last.step < 0) continue;
    Step& step = steps[{last.step, c.job.value}];
    ++step.collectives;
    ++step.last[last.process.value];
    for (size_t i = 0; i < c.calls.size(); ++i) {
      const uint32_t who = calls[c.calls[i]].process.value;
      const Interval wait = WaitOf(calls[c.calls[i]], c.waited_ns[i]);
      if (wait.end_ns == wait.begin_ns) continue;
      step.waited[who].push_back(wait);
      step.made[last.process.value][who].push_back(wait);
    }
  }
  TableRows table("straggler_steps", Integer("step"), Text("process"), Integer("made_wait_ns"),
                  Integer("waited_ns"), Integer("collectives"), Integer("last_count"), Text("job"));
  for (auto& [key, it] : steps) {
    int64_t most = 0, all = 0;
    uint32_t who = 0;
    for (auto& [last, waiters] : it.made) {
      int64_t made = 0;
      for (auto& [waiter, intervals] : waiters) made += LengthOf(UnionOf(intervals));
      if (made > most) std::tie(most, who) = std::pair(made, last);
    }
    if (most == 0) continue;
    for (auto& [waiter, intervals] : it.waited) all += LengthOf(UnionOf(intervals));
    table.Add(key.first, context.process_label({who}), most, all, it.collectives, it.last[who],
              context.process_label({key.second}));
  }
  return table.Make();
}

Table UnmatchedCollectivesTable(const trace::Trace& trace, const Context& context) {
  TableRows table("unmatched_collectives", Text("process"), Text("group"), Text("name"),
                  Text("reason"), Integer("count"));
  for (const Unmatched& u : context.Shared<Collectives>().unmatched) {
    table.Add(context.process_label(u.process), trace.text(u.group), trace.text(u.name),
              NotMatchedName(u.why), u.count);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
