#include "src/analyze/processes/concurrency.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "src/analyze/accounting/cursor.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/accounting/process_sweep.h"
#include "src/analyze/accounting/sweep.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMaxRows = 200;
constexpr size_t kMostSetBytes = 8 << 20;  // of sets that are told apart; the others by their sizes
constexpr int kProcessShift = 17;          // above a move's own bits
static_assert(kMostConcurrent <= 1u << (31 - kProcessShift));
constexpr size_t kMostLabels = 64;  // of a cell

using Words = std::vector<uint64_t>;

// The tracks of all processes; each change carries its process's number.
struct AllProcesses {
  struct Member {
    uint32_t process;
    TrackCursor cursor;
  };
  std::vector<Member> tracks;
  Records own;

  int64_t Peek(size_t quota) const {
    int64_t earliest = std::numeric_limits<int64_t>::max();
    for (const Member& t : tracks) earliest = std::min(earliest, t.cursor.Peek(quota));
    return earliest;
  }
  void Emit(int64_t from, int64_t until, Records& out) {
    for (Member& t : tracks) {
      own.Clear(out.long_tile());
      t.cursor.Emit(from, until, own);
      for (size_t i = 0; i < own.size(); ++i) {
        const uint32_t change = own.change(i);
        if (!(change & kSet)) out.Add(own.Since(i), change | t.process << kProcessShift);
      }
      out.EndRun();
    }
  }
};

bool IsActive(Resource r) { return r >= kOwn && r < kBusy; }

struct Activity {                // of one process
  int64_t host = 0, device = 0;  // tracks
  bool paused = false;
};

struct PauseEdge {
  int64_t at_ns;
  uint32_t process;
  bool begins;
};

std::vector<PauseEdge> PauseEdges(const trace::Trace& trace) {
  std::vector<PauseEdge> edges;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    for (const trace::Interval& pause : Disjoint(p.paused, {p.start_ns, p.end_ns})) {
      edges.push_back({pause.begin_ns, i, true});
      edges.push_back({pause.end_ns, i, false});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const PauseEdge& a, const PauseEdge& b) { return a.at_ns < b.at_ns; });
  return edges;
}

class ConcurrencyFold {
 public:
  explicit ConcurrencyFold(const trace::Trace& trace)
      : activity_(trace.processes.size()),
        pauses_(PauseEdges(trace)),
        words_((trace.processes.size() + 63) / 64),
        now_(2 * words_) {}

  void Apply(uint32_t change) {
    const uint32_t p = change >> kProcessShift;
    Activity& a = activity_[p];
    a.host += IsActive(MoveTo(change)) - IsActive(MoveFrom(change));
    a.device += (MoveTo(change) == kBusy) - (MoveFrom(change) == kBusy);
    Set(p);
  }
  void Advance(int64_t from, int64_t until) {
    while (from < until) {
      for (; next_ < pauses_.size() && pauses_[next_].at_ns <= from; ++next_) {
        activity_[pauses_[next_].process].paused = pauses_[next_].begins;
        Set(pauses_[next_].process);
      }
      const int64_t edge = next_ < pauses_.size() ? std::min(until, pauses_[next_].at_ns) : until;
      if (sum_ == nullptr) sum_ = &SumOf();
      *sum_ += edge - from;
      from = edge;
    }
  }
  // The sets that lasted longest are told apart, in the order of their bits.
  ConcurrencyCells Finish() const {
    std::vector<std::pair<const Words*, int64_t>> order;
    for (const auto& [key, ns] : sums_) order.emplace_back(&key, ns);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    ConcurrencyCells out;
    out.rest = rest_;
    for (size_t i = 0; i < order.size(); ++i) {
      const Words& key = *order[i].first;
      if (i < kMaxRows) {
        out.cells.push_back({Members(key, 0), Members(key, words_), order[i].second});
      } else {
        out.rest[{Count(key, 0), Count(key, words_)}] += order[i].second;
      }
    }
    return out;
  }

 private:
  // Of the processes that are active now.
  int64_t& SumOf() {
    const auto at = sums_.find(now_);
    if (at != sums_.end()) return at->second;
    if (sums_.size() * now_.size() * sizeof(uint64_t) < kMostSetBytes) return sums_[now_];
    return rest_[{host_, device_}];
  }
  size_t Count(const Words& key, size_t first) const {
    size_t count = 0;
    for (size_t i = 0; i < words_; ++i) count += static_cast<size_t>(std::popcount(key[first + i]));
    return count;
  }
  std::vector<uint32_t> Members(const Words& key, size_t first) const {
    std::vector<uint32_t> out;
    for (uint32_t p = 0; p < activity_.size(); ++p) {
      if (key[first + p / 64] >> (p % 64) & 1) out.push_back(p);
    }
    return out;
  }
  void SetBit(size_t first, uint32_t p, bool on, size_t* count) {
    uint64_t& word = now_[first + p / 64];
    const uint64_t bit = uint64_t{1} << (p % 64);
    const uint64_t next = on ? word | bit : word & ~bit;
    if (next == word) return;
    sum_ = nullptr;
    *count += on ? 1 : -1;
    word = next;
  }
  void Set(uint32_t p) {
    const Activity& a = activity_[p];
    SetBit(0, p, !a.paused && a.host > 0, &host_);
    SetBit(words_, p, !a.paused && a.device > 0, &device_);
  }

  std::vector<Activity> activity_;
  std::vector<PauseEdge> pauses_;
  size_t next_ = 0;
  size_t words_;
  Words now_;                     // host bits, then device bits
  size_t host_ = 0, device_ = 0;  // of them
  ConcurrencyCells::BySize rest_;
  std::map<Words, int64_t> sums_;
  int64_t* sum_ = nullptr;  // of the key now; null: to be found
};

std::string Labels(const Context& context, const std::vector<uint32_t>& processes) {
  std::string out;
  for (size_t i = 0; i < std::min(processes.size(), kMostLabels); ++i) {
    out += (i == 0 ? "" : "+") + context.process_label({processes[i]});
  }
  if (processes.size() <= kMostLabels) return out;
  return out + "+(" + std::to_string(processes.size() - kMostLabels) + " others)";
}

}  // namespace

ConcurrencyCells ComputeConcurrency(const trace::Trace& trace, const NameCodes& names) {
  if (trace.processes.empty() || trace.processes.size() > kMostConcurrent) return {};
  int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  AllProcesses source;
  const std::vector<ProcessTracks> tracks = TracksByProcess(trace);
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const trace::Process& p = trace.processes[i];
    begin = std::min(begin, p.start_ns);
    end = std::max(end, p.end_ns);
    const trace::Interval window = {p.start_ns, p.end_ns};
    for (const uint32_t t : tracks[i].host) {
      source.tracks.push_back({i, TrackCursor(trace.tracks[t], names, Role::kThread, window)});
    }
    for (const uint32_t t : tracks[i].device) {
      source.tracks.push_back({i, TrackCursor(trace.tracks[t], names, Role::kDevice, window)});
    }
  }
  ConcurrencyFold fold(trace);
  Sweep(begin, end, source, fold);
  return fold.Finish();
}

Table ConcurrencyTable(const trace::Trace& trace, const Context& context) {
  ConcurrencyCells found;
  // Names of its own: those of the accounting come with every process's overlap.
  if (trace.processes.size() > 1) found = ComputeConcurrency(trace, NameCodes(trace));
  TableRows table("concurrency", Text("host_processes"), Text("device_processes"),
                  Integer("host_count"), Integer("device_count"), Integer("ns"));
  for (const ConcurrencyCell& c : found.cells) {
    table.Add(Labels(context, c.host), Labels(context, c.device), c.host.size(), c.device.size(),
              c.ns);
  }
  for (const auto& [count, sum] : found.rest) {
    table.Add("(others)", "(others)", count.first, count.second, sum);
  }
  if (trace.processes.size() > kMostConcurrent) {
    table.Note("not computed: " + std::to_string(trace.processes.size()) +
               " processes, more than " + std::to_string(kMostConcurrent));
  }
  return table.Make();
}

}  // namespace crosscut::analyze
