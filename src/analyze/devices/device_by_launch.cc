#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/sweep.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/tables.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

// What a device track runs: nothing, work with no known launch, or work of operation - kFirst.
constexpr uint32_t kRest = 0, kUnlinked = 1, kFirst = 2, kMost = 0xffff;
// Of a set with more states than these, the first ones and how many others, from kOthers on.
constexpr size_t kMostOfSet = 64;
constexpr uint32_t kOthers = kMost + 1;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The launching operation's state by span, for every device span with an arrow into it.
using Launches = std::unordered_map<trace::SpanIndex, uint32_t>;
std::unordered_map<uint32_t, Launches> FindLaunches(const trace::Trace& trace,
                                                    const NameCodes& names) {
  const auto operation_of = [&](trace::TrackId track, trace::SpanIndex span) {
    return names.codes[trace.tracks[track.value].spans.name[span].value].operation();
  };
  trace::SpansAround operations(trace, [&](trace::TrackId track, trace::SpanIndex span) {
    return operation_of(track, span) != 0;
  });
  trace::OpenSpansByTrack open(trace);
  // A thread without an operation of its own works for what its process is doing: autograd's runs
  // the backward pass while the lead waits for it.
  const auto leads = [&](trace::TrackId launching, int64_t at) -> uint32_t {
    const trace::ProcessId process = trace.tracks[launching.value].process;
    const trace::TrackId lead =
        process.valid() ? trace.processes[process.value].lead : trace::TrackId();
    if (!lead.valid() || lead == launching) return 0;
    const trace::SpanIndex around = operations.Of(lead, open.of(lead).InnermostAt(at));
    return around == trace::kNoSpan ? 0 : operation_of(lead, around);
  };
  std::unordered_map<uint32_t, Launches> out;
  for (const trace::Flow& flow : trace.flows) {
    if (!flow.to_track.valid() || !flow.from_track.valid() || flow.to == trace::kNoSpan) continue;
    if (trace.tracks[flow.to_track.value].kind != trace::TrackKind::kDevice) continue;
    const trace::SpanIndex around = operations.Of(flow.from_track, flow.from);
    const uint32_t operation = around == trace::kNoSpan ? leads(flow.from_track, flow.from_ns)
                                                        : operation_of(flow.from_track, around);
    out[flow.to_track.value].emplace(flow.to, std::min(operation + kFirst, kMost));
  }
  return out;
}

class DeviceCursor {
 public:
  DeviceCursor(const trace::Track& track, const NameCodes& names, const Launches* launches)
      : spans_(track.spans), names_(names), launches_(launches), open_{{kNever, kRest}} {}

  int64_t Peek(size_t quota) const {
    return next_ + quota < spans_.size() ? spans_.begin_ns[next_ + quota] : kNever;
  }
  void Emit(int64_t from, int64_t until, Records& out) {
    while (true) {
      const int64_t begin = next_ < spans_.size() ? spans_.begin_ns[next_] : kNever;
      const bool ends = open_.back().end_ns <= begin;
      const int64_t at = ends ? open_.back().end_ns : begin;
      if (at >= until) break;
      if (ends) {
        open_.pop_back();
      } else {
        Push();
      }
      Tell(std::max<int64_t>(0, at - from), out);
    }
    out.EndRun();
  }

 private:
  struct Open {
    int64_t end_ns;
    uint32_t state;
  };

  void Push() {
    const Open& below = open_.back();
    const uint8_t code = names_.codes[spans_.name[next_].value].code;
    uint32_t state = below.state;
    if (code & kCodeWork) {
      const bool idle = (code & kCodeLayer) == static_cast<uint8_t>(trace::Layer::kIdle);
      state = idle ? kRest : std::max(state, kUnlinked);
      const uint32_t launch = Launch();
      if (!idle && launch != kRest) state = launch;
    }
    open_.push_back({std::min(spans_.end_ns[next_], below.end_ns), state});
    ++next_;
  }
  uint32_t Launch() const {
    if (launches_ == nullptr) return kRest;
    const auto at = launches_->find(static_cast<trace::SpanIndex>(next_));
    return at == launches_->end() ? kRest : at->second;
  }
  void Tell(int64_t since, Records& out) {
    const uint32_t state = open_.back().state;
    if (state == told_) return;
    out.Add(since, told_ << 16 | state);
    told_ = state;
  }

  const trace::Spans& spans_;
  const NameCodes& names_;
  const Launches* launches_;
  size_t next_ = 0;
  std::vector<Open> open_;
  uint32_t told_ = kRest;
};

struct DeviceSource {
  std::vector<DeviceCursor> tracks;
  int64_t Peek(size_t quota) const {
    int64_t earliest = kNever;
    for (const DeviceCursor& t : tracks) earliest = std::min(earliest, t.Peek(quota));
    return earliest;
  }
  void Emit(int64_t from, int64_t until, Records& out) {
    for (DeviceCursor& t : tracks) t.Emit(from, until, out);
  }
};

using Running = std::map<uint32_t, uint32_t>;  // state -> tracks in it

struct LaunchFold {
  const std::vector<trace::Interval>& pauses;
  Running running;
  std::map<std::vector<uint32_t>, int64_t> sums;
  int64_t* sum = nullptr;  // of the set that runs now; null: to be found

  void Apply(uint32_t change) {
    const uint32_t from = change >> 16, to = change & 0xffff;
    if (from != kRest && --running[from] == 0) running.erase(from);
    if (to != kRest) ++running[to];
    sum = nullptr;
  }
  void Advance(int64_t from, int64_t until) {
    if (running.empty()) return;
    if (sum == nullptr) sum = &sums[Key()];
    *sum += until - from - LengthWithin(pauses, from, until);
  }
  std::vector<uint32_t> Key() const {
    std::vector<uint32_t> key;
    const size_t linked = running.size() - running.count(kUnlinked);
    for (const auto& [state, n] : running) {
      if (key.size() == kMostOfSet) break;
      if (state != kUnlinked) key.push_back(state);
    }
    if (linked > key.size()) key.push_back(kOthers + static_cast<uint32_t>(linked - key.size()));
    if (key.empty()) key.push_back(kUnlinked);
    return key;
  }
};

std::string KeyText(const trace::Trace& trace, const NameCodes& names,
                    const std::vector<uint32_t>& key) {
  std::set<std::string> texts;
  std::string others;
  for (const uint32_t state : key) {
    if (state > kOthers) {
      others =
          "+(" + std::to_string(state - kOthers) + (state == kOthers + 1 ? " other)" : " others)");
    } else if (state == kUnlinked) {
      texts.insert("(unlinked)");
    } else if (state == kFirst) {
      texts.insert("(none)");
    } else if (state == kMost) {
      texts.insert("(others)");
    } else {
      texts.emplace(trace.text(names.operations[state - kFirst]));
    }
  }
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : "+") + text;
  return joined + others;
}

}  // namespace

Table DeviceByLaunchTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  const auto launches = FindLaunches(trace, a.names);
  TableRows table("device_by_launch", Text("process"), Text("launch_operations"), Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    DeviceSource source;
    for (const uint32_t t : a.tracks[p].device) {
      const auto found = launches.find(t);
      source.tracks.emplace_back(trace.tracks[t], a.names,
                                 found == launches.end() ? nullptr : &found->second);
    }
    if (source.tracks.empty()) continue;
    LaunchFold fold{a.events[p].pauses, {}, {}, nullptr};
    Sweep(trace.processes[p].start_ns, trace.processes[p].end_ns, source, fold);
    for (const auto& [key, sum] : fold.sums) {
      if (sum == 0) continue;
      table.Add(context.process_label({p}), KeyText(trace, a.names, key), sum);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
