#include "src/analyze/collectives/matches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "src/trace/ranks.h"

namespace crosscut::analyze {
namespace {

using trace::ProcessId;
using trace::StringId;

// Stamps of two processes of one host may be this far apart: a few clock errors.
constexpr int64_t kClockError = 100'000;

// Calls that may be of one group. A collective of an unknown group is matched with those of its
// name alone.
struct GroupKey {
  StringId group, name;  // name: only where the group is not stated
  bool device;
  int64_t restart;
  ProcessId job;  // the parent of its processes, where several jobs have the same ranks; else none
  auto Tie() const { return std::tuple(group.value, name.value, device, restart, job.value); }
  bool operator<(const GroupKey& other) const { return Tie() < other.Tie(); }
};
using Members = std::map<uint32_t, std::vector<uint32_t>>;  // calls by process, in order

class Matching {
 public:
  Matching(const Context& context, Collectives* out)
      : trace_(context.trace()),
        calls_(context.Shared<CollectiveCalls>().calls),
        one_clock_(SharesClock(trace_)),
        out_(out) {}
  void Make();

 private:
  int64_t RestartOf(ProcessId process) const;
  std::map<GroupKey, Members> Groups();
  void SplitJobs(const GroupKey& key, Members members, std::map<GroupKey, Members>* out);
  void MatchGroup(const GroupKey& key, const Members& members);
  void MatchBySequence(const Members& members);
  void MatchByPlace(const Members& members);
  // All calls of `row` are one collective, if they are as many as the group has ranks.
  void TakeRow(std::vector<uint32_t> row, size_t ranks);
  bool SizesDiffer(const std::vector<uint32_t>& row) const;
  bool Together(const std::vector<uint32_t>& row) const;
  void FindWaits(Collective* collective) const;
  void Reject(uint32_t call, NotMatched why);
  void Reject(const std::vector<uint32_t>& calls, NotMatched why) {
    for (const uint32_t call : calls) Reject(call, why);
  }

  const trace::Trace& trace_;
  const std::vector<CollectiveCall>& calls_;
  const bool one_clock_;
  Collectives* out_;
  ProcessId job_;  // of the group that is being matched
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, NotMatched>, int64_t> rejected_;
};

int64_t Matching::RestartOf(ProcessId process) const {
  for (const auto& [key, value] : trace_.processes[process.value].meta) {
    if (trace_.text(key) != "restart") continue;
    const std::string text(trace_.text(value));
    return strtoll(text.c_str(), nullptr, 10);
  }
  return 0;
}

void Matching::Reject(uint32_t call, NotMatched why) {
  const CollectiveCall& c = calls_[call];
  ++rejected_[{c.process.value, c.group.value, c.name.value, why}];
}

std::map<GroupKey, Members> Matching::Groups() {
  std::map<GroupKey, Members> whole, out;
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    const CollectiveCall& call = calls_[i];
    if (call.pair) {
      Reject(i, NotMatched::kPair);
      continue;
    }
    const StringId name = call.group.valid() ? StringId{} : call.name;
    whole[{call.group, name, call.device, RestartOf(call.process), {}}][call.process.value]
        .push_back(i);
  }
  for (auto& [key, members] : whole) SplitJobs(key, std::move(members), &out);
  return out;
}

// Two jobs may run beside each other and call their groups the same. Then ranks are there twice,
// and who started them tells the jobs apart.
void Matching::SplitJobs(const GroupKey& key, Members members, std::map<GroupKey, Members>* out) {
  const auto twice = [&](const Members& some) {
    std::set<int64_t> ranks;
    for (const auto& [process, calls] : some) {
      const int64_t rank = trace::RankOf(trace_, trace_.processes[process]).rank;
      if (rank >= 0 && !ranks.insert(rank).second) return true;
    }
    return false;
  };
  if (!twice(members)) {
    (*out)[key] = std::move(members);
    return;
  }
  std::map<uint32_t, Members> jobs;
  for (auto& [process, calls] : members) {
    jobs[trace_.processes[process].parent.value][process] = std::move(calls);
  }
  for (auto& [parent, job] : jobs) {
    GroupKey of_job = key;
    of_job.job = {parent};
    if (!twice(job)) {
      (*out)[of_job] = std::move(job);
      continue;
    }
    for (const auto& [process, calls] : job) Reject(calls, NotMatched::kAmbiguous);
  }
}

void Matching::MatchGroup(const GroupKey& key, const Members& members) {
  job_ = key.job;
  if (members.size() < 2) {
    for (const auto& [process, calls] : members) {
      for (const uint32_t call : calls) {
        if (calls_[call].group_size != 1) Reject(call, NotMatched::kRankMissing);
      }
    }
    return;
  }
  const CollectiveCall& first = calls_[members.begin()->second.front()];
  if (members.size() > 2 && !first.group.valid() && first.group_size < 0) {
    for (const auto& [process, calls] : members) {
      for (const uint32_t call : calls) Reject(call, NotMatched::kGroupNotStated);
    }
    return;
  }
  bool sequences = true;
  for (const auto& [process, calls] : members) {
    for (const uint32_t call : calls) sequences &= calls_[call].sequence >= 0;
  }
  if (sequences) {
    MatchBySequence(members);
  } else {
    MatchByPlace(members);
  }
}

void Matching::MatchBySequence(const Members& members) {
  // By process and number the calls of one collective: more than one where it was told twice.
  std::map<int64_t, std::map<uint32_t, std::vector<uint32_t>>> rows;
  for (const auto& [process, calls] : members) {
    for (const uint32_t call : calls) rows[calls_[call].sequence][process].push_back(call);
  }
  for (const auto& [sequence, row] : rows) {
    // One collective may be several kernels: as many in each rank.
    size_t parts = SIZE_MAX, most = 0;
    for (const auto& [process, calls] : row) {
      parts = std::min(parts, calls.size());
      most = std::max(most, calls.size());
    }
    for (size_t part = 0; part < most; ++part) {
      std::vector<uint32_t> of_part;
      for (const auto& [process, calls] : row) {
        if (part < calls.size()) of_part.push_back(calls[part]);
      }
      if (part >= parts) {
        Reject(of_part, NotMatched::kCountsDiffer);
      } else {
        TakeRow(std::move(of_part), members.size());
      }
    }
  }
}

// By step and name; what lies outside of steps counts as one step.
void Matching::MatchByPlace(const Members& members) {
  std::map<std::pair<int64_t, uint32_t>, std::map<uint32_t, std::vector<uint32_t>>> places;
  for (const auto& [process, calls] : members) {
    for (const uint32_t call : calls) {
      places[{calls_[call].step, calls_[call].name.value}][process].push_back(call);
    }
  }
  for (const auto& [place, by_process] : places) {
    size_t fewest = SIZE_MAX, most = 0;
    for (const auto& [process, calls] : by_process) {
      fewest = std::min(fewest, calls.size());
      most = std::max(most, calls.size());
    }
    const bool all = by_process.size() == members.size();
    for (size_t i = 0; i < most; ++i) {
      std::vector<uint32_t> row;
      for (const auto& [process, calls] : by_process) {
        if (i < calls.size()) row.push_back(calls[i]);
      }
      if (!all) {
        Reject(row, NotMatched::kRankMissing);
      } else if (fewest != most) {
        Reject(row, NotMatched::kCountsDiffer);
      } else {
        TakeRow(std::move(row), members.size());
      }
    }
  }
}

void Matching::TakeRow(std::vector<uint32_t> row, size_t ranks) {
  const CollectiveCall& first = calls_[row[0]];
  const auto size = first.group_size > 0 ? static_cast<size_t>(first.group_size) : ranks;
  if (row.size() < std::max<size_t>(size, 2)) return Reject(row, NotMatched::kRankMissing);
  if (row.size() > size) return Reject(row, NotMatched::kAmbiguous);
  for (const uint32_t call : row) {
    if (calls_[call].name != first.name) return Reject(row, NotMatched::kNamesDiffer);
  }
  if (SizesDiffer(row)) return Reject(row, NotMatched::kSizesDiffer);
  if (!Together(row)) return Reject(row, NotMatched::kApart);
  if (first.rooted && !one_clock_) return Reject(row, NotMatched::kNoClock);
  Collective collective;
  collective.calls = std::move(row);
  collective.job = job_;
  FindWaits(&collective);
  out_->matched.push_back(std::move(collective));
}

// Where some state none, of those that do. Ranks may gather, scatter and exchange different
// numbers.
bool Matching::SizesDiffer(const std::vector<uint32_t>& row) const {
  const std::string_view name = trace_.text(calls_[row[0]].name);
  for (const std::string_view uneven : {"ather", "catter", "llToAll", "lltoall", "ll_to_all"}) {
    if (name.find(uneven) != name.npos) return false;
  }
  int64_t bytes = -1;
  for (const uint32_t call : row) {
    if (calls_[call].bytes < 0) continue;
    if (bytes >= 0 && calls_[call].bytes != bytes) return true;
    bytes = calls_[call].bytes;
  }
  return false;
}

// Who waits for the last to come cannot leave before.
bool Matching::Together(const std::vector<uint32_t>& row) const {
  if (!one_clock_ || calls_[row[0]].rooted) return true;
  int64_t last_begin = INT64_MIN, first_end = INT64_MAX;
  for (const uint32_t call : row) {
    last_begin = std::max(last_begin, calls_[call].begin_ns);
    first_end = std::min(first_end, calls_[call].end_ns);
  }
  return last_begin <= first_end + kClockError;
}

void Matching::FindWaits(Collective* collective) const {
  const size_t n = collective->calls.size();
  collective->waited_ns.assign(n, 0);
  collective->saved_ns.assign(n, 0);
  const auto call = [&](size_t i) -> const CollectiveCall& { return calls_[collective->calls[i]]; };
  // How late each one came: by the clock, or by how much less than others it stayed.
  const auto late = [&](size_t i) { return one_clock_ ? call(i).begin_ns : -call(i).duration(); };
  size_t first = 0, last = 0;
  for (size_t i = 1; i < n; ++i) {
    if (late(i) > late(last)) last = i;
    if (late(i) < late(first)) first = i;
  }
  int64_t before = INT64_MIN;  // the last but one
  for (size_t i = 0; i < n; ++i) {
    if (i != last) before = std::max(before, late(i));
  }
  collective->last = static_cast<uint32_t>(last);
  collective->skew_ns = late(last) - late(first);
  collective->transfer_ns = INT64_MAX;
  for (size_t i = 0; i < n; ++i) {
    // Who sends or is served at once leaves without the last one, and did not wait for it.
    const bool left = call(0).rooted && call(i).end_ns < call(last).begin_ns;
    const int64_t waited =
        left ? 0 : std::clamp<int64_t>(late(last) - late(i), 0, call(i).duration());
    collective->waited_ns[i] = waited;
    collective->saved_ns[i] = std::min(waited, late(last) - before);
    if (left) continue;
    collective->transfer_ns = std::min(collective->transfer_ns, call(i).duration() - waited);
  }
}

void Matching::Make() {
  for (const auto& [key, members] : Groups()) MatchGroup(key, members);
  std::stable_sort(out_->matched.begin(), out_->matched.end(), [&](const auto& a, const auto& b) {
    return calls_[a.calls[0]].begin_ns < calls_[b.calls[0]].begin_ns;
  });
  for (const auto& [key, count] : rejected_) {
    const auto& [process, group, name, why] = key;
    out_->unmatched.push_back({{process}, {group}, {name}, why, count});
  }
}

}  // namespace

bool SharesClock(const trace::Trace& trace) { return trace.clock == "CLOCK_MONOTONIC"; }

const char* NotMatchedName(NotMatched why) {
  switch (why) {
    case NotMatched::kPair: return "between two ranks";
    case NotMatched::kGroupNotStated: return "group not stated";
    case NotMatched::kRankMissing: return "rank missing";
    case NotMatched::kCountsDiffer: return "counts differ";
    case NotMatched::kNamesDiffer: return "names differ";
    case NotMatched::kSizesDiffer: return "sizes differ";
    case NotMatched::kApart: return "not at the same time";
    case NotMatched::kAmbiguous: return "rank there twice";
    case NotMatched::kNoClock: return "it has a root, the ranks no common clock";
  }
  return "";
}

Collectives::Collectives(const Context& context) { Matching(context, this).Make(); }

}  // namespace crosscut::analyze
