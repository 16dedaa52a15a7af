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
#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

using trace::Interval;
using trace::StringId;

int64_t OrMissing(int64_t number) { return number < 0 ? kMissing : number; }

// The measure of the union; reorders.
int64_t UnionLength(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  int64_t sum = 0, end = INT64_MIN;
  for (const Interval& i : intervals) {
    if (i.end_ns <= end) continue;
    sum += i.end_ns - std::max(i.begin_ns, end);
    end = i.end_ns;
  }
  return sum;
}

struct Straggler {
  int64_t collectives = 0, last = 0, unmatched = 0;
  std::vector<Interval> waited;
  std::map<uint32_t, std::vector<Interval>> made_wait;  // by who waited
};

// Calls visit(collective, its calls) for those whose waits are known.
template <class Visit>
void ForEachKnown(const Context& context, Visit visit) {
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  for (const Collective& c : context.Shared<Collectives>().matched) {
    if (c.waits_known) visit(c, calls);
  }
}

Interval WaitOf(const CollectiveCall& call, int64_t waited) {
  return {call.begin_ns, call.begin_ns + waited};
}

const char* KindOf(const CollectiveCall& call) {
  return call.pair ? "pair" : call.rooted ? "rooted" : "all";
}

struct CallRow {
  const CollectiveCall* call;
  int64_t rank, waited;
  trace::ProcessId last;
};

}  // namespace

Table CollectiveCallsTable(const trace::Trace& trace, const Context& context) {
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  std::vector<int64_t> ranks;
  for (const trace::Process& process : trace.processes) {
    ranks.push_back(trace::RankOf(trace, process).rank);
  }
  std::vector<CallRow> rows;
  for (const CollectiveCall& call : calls) {
    rows.push_back({&call, ranks[call.process.value], kMissing, {}});
  }
  ForEachKnown(context, [&](const Collective& c, const std::vector<CollectiveCall>&) {
    for (size_t i = 0; i < c.calls.size(); ++i) {
      rows[c.calls[i]].waited = c.waited_ns[i];
      rows[c.calls[i]].last = calls[c.calls[c.last]].process;
    }
  });
  const auto text = [&](StringId id) { return std::string(trace.text(id)); };
  return TableOf("collective_calls", rows)
      .Text("process", [&](const CallRow& r) { return context.process_label(r.call->process); })
      .Integer("rank", [](const CallRow& r) { return OrMissing(r.rank); })
      .Text("group", [&](const CallRow& r) { return text(r.call->group); })
      .Text("name", [&](const CallRow& r) { return text(r.call->name); })
      .Text("kind", [](const CallRow& r) { return KindOf(*r.call); })
      .Integer("seq", [](const CallRow& r) { return OrMissing(r.call->sequence); })
      .Integer("step", [](const CallRow& r) { return OrMissing(r.call->step); })
      .Text("operation", [&](const CallRow& r) { return text(r.call->operation); })
      .Text("place", [](const CallRow& r) { return r.call->device ? "device" : "host"; })
      .Integer("begin_ns", [](const CallRow& r) { return r.call->begin_ns; })
      .Integer("ns", [](const CallRow& r) { return r.call->duration(); })
      .Integer("waited_ns", [](const CallRow& r) { return r.waited; })
      .Text("last", [&](const CallRow& r) { return context.process_label(r.last); })
      .Integer("bytes", [](const CallRow& r) { return OrMissing(r.call->bytes); })
      .Integer("peer", [](const CallRow& r) { return OrMissing(r.call->peer); })
      .Integer("group_size", [](const CallRow& r) { return OrMissing(r.call->group_size); })
      .Make();
}

Table CollectivesTable(const trace::Trace& trace, const Context& context) {
  struct Row {
    int64_t count = 0, ranks = 0, bytes = 0, transfer = 0, skew = 0, waited = 0;
    std::map<uint32_t, int64_t> last;  // by process
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Row> by_name;  // group, name, job
  ForEachKnown(context, [&](const Collective& c, const std::vector<CollectiveCall>& calls) {
    const CollectiveCall& first = calls[c.calls[0]];
    Row& row = by_name[{first.group.value, first.name.value, c.job.value}];
    ++row.count;
    row.ranks = std::max(row.ranks, static_cast<int64_t>(c.calls.size()));
    AddTo(&row.bytes, std::max<int64_t>(first.bytes, 0));
    row.transfer += c.transfer_ns;
    row.skew += *std::max_element(c.waited_ns.begin(), c.waited_ns.end());
    for (const int64_t ns : c.waited_ns) row.waited += ns;
    ++row.last[calls[c.calls[c.last]].process.value];
  });
  Texts group, name, last, job;
  Integers count, ranks, bytes, transfer, skew, waited, last_count;
  Reals rate;
  for (const auto& [key, row] : by_name) {
    const auto top = std::max_element(row.last.begin(), row.last.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
    const auto& [in_group, of_name, of_job] = key;
    group.emplace_back(trace.text({in_group}));
    name.emplace_back(trace.text({of_name}));
    job.push_back(context.process_label({of_job}));
    count.push_back(row.count);
    ranks.push_back(row.ranks);
    bytes.push_back(CellOf(row.bytes));
    transfer.push_back(row.transfer);
    skew.push_back(row.skew);
    waited.push_back(row.waited);
    last.push_back(context.process_label({top->first}));
    last_count.push_back(top->second);
    rate.push_back(bytes.back() > 0 && row.transfer > 0
                       ? static_cast<double>(row.bytes) * 1e9 / static_cast<double>(row.transfer)
                       : std::numeric_limits<double>::quiet_NaN());
  }
  return MakeTable("collectives", MakeColumn("group", group), MakeColumn("name", name),
                   MakeColumn("count", count), MakeColumn("ranks", ranks),
                   MakeColumn("bytes", bytes), MakeColumn("transfer_ns", transfer),
                   MakeColumn("skew_ns", skew), MakeColumn("waited_ns", waited),
                   MakeColumn("last", last), MakeColumn("last_count", last_count),
                   MakeColumn("bytes_per_s", rate), MakeColumn("job", job));
}

Table StragglersTable(const trace::Trace& trace, const Context& context) {
  std::map<std::pair<uint32_t, uint32_t>, Straggler> rows;  // by process, group
  ForEachKnown(context, [&](const Collective& c, const std::vector<CollectiveCall>& calls) {
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
  });
  for (const Unmatched& u : context.Shared<Collectives>().unmatched) {
    const auto row = rows.find({u.process.value, u.group.value});
    if (row != rows.end() && u.why != NotMatched::kPair) row->second.unmatched += u.count;
  }
  Texts process, group;
  Integers collectives, waited, last, made_wait, unmatched;
  for (auto& [key, row] : rows) {
    int64_t made = 0;
    for (auto& [who, intervals] : row.made_wait) made += UnionLength(intervals);
    process.push_back(context.process_label({key.first}));
    group.emplace_back(trace.text({key.second}));
    collectives.push_back(row.collectives);
    waited.push_back(UnionLength(row.waited));
    last.push_back(row.last);
    made_wait.push_back(made);
    unmatched.push_back(row.unmatched);
  }
  return MakeTable("stragglers", MakeColumn("process", process), MakeColumn("group", group),
                   MakeColumn("collectives", collectives), MakeColumn("waited_ns", waited),
                   MakeColumn("last_count", last), MakeColumn("made_wait_ns", made_wait),
                   MakeColumn("unmatched", unmatched));
}

Table StragglerStepsTable(const trace::Trace&, const Context& context) {
  struct Step {
    int64_t collectives = 0;
    std::map<uint32_t, std::vector<Interval>> waited;                    // by who waited
    std::map<uint32_t, std::map<uint32_t, std::vector<Interval>>> made;  // by for whom, who
    std::map<uint32_t, int64_t> last;
  };
  std::map<std::pair<int64_t, uint32_t>, Step> steps;  // number, job
  ForEachKnown(context, [&](const Collective& c, const std::vector<CollectiveCall>& calls) {
    const CollectiveCall& last = calls[c.calls[c.last]];
    if (last.step < 0) return;
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
  });
  Texts process, job;
  Integers number, made_wait, waited, collectives, last_count;
  for (auto& [key, it] : steps) {
    int64_t most = 0, all = 0;
    uint32_t who = 0;
    for (auto& [last, waiters] : it.made) {
      int64_t made = 0;
      for (auto& [waiter, intervals] : waiters) made += UnionLength(intervals);
      if (made > most) std::tie(most, who) = std::pair(made, last);
    }
    if (most == 0) continue;
    for (auto& [waiter, intervals] : it.waited) all += UnionLength(intervals);
    number.push_back(key.first);
    job.push_back(context.process_label({key.second}));
    process.push_back(context.process_label({who}));
    made_wait.push_back(most);
    waited.push_back(all);
    collectives.push_back(it.collectives);
    last_count.push_back(it.last[who]);
  }
  return MakeTable("straggler_steps", MakeColumn("step", number), MakeColumn("process", process),
                   MakeColumn("made_wait_ns", made_wait), MakeColumn("waited_ns", waited),
                   MakeColumn("collectives", collectives), MakeColumn("last_count", last_count),
                   MakeColumn("job", job));
}

Table UnmatchedCollectivesTable(const trace::Trace& trace, const Context& context) {
  return TableOf("unmatched_collectives", context.Shared<Collectives>().unmatched)
      .Text("process", [&](const Unmatched& u) { return context.process_label(u.process); })
      .Text("group", [&](const Unmatched& u) { return std::string(trace.text(u.group)); })
      .Text("name", [&](const Unmatched& u) { return std::string(trace.text(u.name)); })
      .Text("reason", [](const Unmatched& u) { return NotMatchedName(u.why); })
      .Integer("count", [](const Unmatched& u) { return u.count; })
      .Make();
}

}  // namespace crosscut::analyze
