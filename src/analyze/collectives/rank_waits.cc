#include "src/analyze/collectives/rank_waits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/analyze/collectives/matches.h"
#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

using trace::ProcessId;
using Waits = std::vector<RankWait>;

void AddCollectives(const Context& context, std::vector<Waits>* out) {
  const auto& calls = context.Shared<CollectiveCalls>().calls;
  for (const Collective& collective : context.Shared<Collectives>().matched) {
    const ProcessId last = calls[collective.calls[collective.last]].process;
    for (size_t i = 0; i < collective.calls.size(); ++i) {
      const CollectiveCall& call = calls[collective.calls[i]];
      const int64_t until = call.begin_ns + collective.waited_ns[i];
      const int64_t saved_from = until - collective.saved_ns[i];
      Waits& waits = (*out)[call.process.value];
      if (saved_from > call.begin_ns) waits.push_back({call.begin_ns, saved_from, last, false});
      if (until > saved_from) waits.push_back({saved_from, until, last, true});
    }
  }
}

// Of ranks whose number one process has: groups of fewer number their ranks by themselves.
void AddPairs(const Context& context, std::vector<Waits>* out) {
  const trace::Trace& trace = context.trace();
  std::map<int64_t, std::vector<uint32_t>> ranks;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const int64_t rank = trace::RankOf(trace, trace.processes[p]).rank;
    if (rank >= 0) ranks[rank].push_back(p);
  }
  const auto size = static_cast<int64_t>(ranks.size());
  for (const CollectiveCall& call : context.Shared<CollectiveCalls>().calls) {
    if (!call.pair || call.device || (call.group_size >= 0 && call.group_size != size)) continue;
    const auto peer = ranks.find(call.peer);
    if (peer == ranks.end() || peer->second.size() > 1) continue;
    const ProcessId other = {peer->second[0]};
    if (other == call.process || call.end_ns <= call.begin_ns) continue;
    (*out)[call.process.value].push_back({call.begin_ns, call.end_ns, other, true});
  }
}

// Of those that overlap, the earlier one counts.
void MakeDisjoint(Waits* waits) {
  std::stable_sort(waits->begin(), waits->end(),
                   [](const RankWait& a, const RankWait& b) { return a.begin_ns < b.begin_ns; });
  Waits disjoint;
  int64_t end = INT64_MIN;
  for (RankWait wait : *waits) {
    wait.begin_ns = std::max(wait.begin_ns, end);
    if (wait.begin_ns >= wait.end_ns) continue;
    end = wait.end_ns;
    disjoint.push_back(wait);
  }
  *waits = std::move(disjoint);
}

// The parts in which the process's lead is in communication. It may as well work while a collective
// of its own goes on, and keeps others waiting by that.
Waits OfLead(const trace::Trace& trace, const trace::Process& process, const Waits& waits) {
  if (process.lead.value >= trace.tracks.size()) return {};
  const trace::Spans& spans = trace.tracks[process.lead.value].spans;
  Waits out;
  size_t next = 0;
  int64_t seen_ns = INT64_MIN;  // spans inside of one that was seen say nothing new
  for (trace::SpanIndex span = 0; span < spans.size(); ++span) {
    if (trace.name(spans.name[span]).layer != trace::Layer::kComm) continue;
    const int64_t begin = std::max(spans.begin_ns[span], seen_ns), end = spans.end_ns[span];
    seen_ns = std::max(seen_ns, end);
    while (next < waits.size() && waits[next].end_ns <= begin) ++next;
    for (size_t i = next; i < waits.size() && waits[i].begin_ns < end; ++i) {
      RankWait part = waits[i];
      part.begin_ns = std::max(part.begin_ns, begin);
      part.end_ns = std::min(part.end_ns, end);
      if (part.begin_ns < part.end_ns) out.push_back(part);
    }
  }
  return out;
}

// Who waits for nobody at that instant, behind `wait`; none where those in between wait for one
// another. Holds until *until_ns.
ProcessId EndOf(const std::vector<Waits>& all, const RankWait& wait, int64_t at_ns,
                int64_t* until_ns) {
  *until_ns = wait.end_ns;
  ProcessId now = wait.last;
  for (size_t steps = 0; steps < all.size(); ++steps) {
    const Waits& waits = all[now.value];
    const auto next = std::partition_point(
        waits.begin(), waits.end(), [at_ns](const RankWait& one) { return one.end_ns <= at_ns; });
    if (next == waits.end()) return now;
    const bool in_it = next->begin_ns <= at_ns;
    *until_ns = std::min(*until_ns, in_it ? next->end_ns : next->begin_ns);
    if (!in_it) return now;
    now = next->last;
  }
  return {};
}

// A wait that ends at `process` itself, whose lead works meanwhile, is for nobody, too.
Waits Followed(const std::vector<Waits>& all, ProcessId process, const Waits& waits) {
  Waits out;
  for (const RankWait& wait : waits) {
    for (int64_t at = wait.begin_ns, until; at < wait.end_ns; at = until) {
      const ProcessId end = EndOf(all, wait, at, &until);
      if (!end.valid() || end == process) continue;
      const bool goes_on = !out.empty() && out.back().end_ns == at && out.back().last == end &&
                           out.back().saved == wait.saved;
      if (goes_on) {
        out.back().end_ns = until;
      } else {
        out.push_back({at, until, end, wait.saved});
      }
    }
  }
  return out;
}

}  // namespace

std::vector<std::vector<RankWait>> RankWaits(const Context& context) {
  std::vector<Waits> all(context.trace().processes.size());
  AddCollectives(context, &all);
  const bool one_clock = SharesClock(context.trace());
  if (one_clock) AddPairs(context, &all);
  for (Waits& waits : all) MakeDisjoint(&waits);
  if (!one_clock) return all;
  std::vector<Waits> of_leads, out;
  for (uint32_t p = 0; p < all.size(); ++p) {
    of_leads.push_back(OfLead(context.trace(), context.trace().processes[p], all[p]));
  }
  for (uint32_t p = 0; p < all.size(); ++p) out.push_back(Followed(of_leads, {p}, all[p]));
  return out;
}

}  // namespace crosscut::analyze
