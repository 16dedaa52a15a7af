#include "src/analyze/context.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace crosscut::analyze {
namespace {

// `label`, or with the first free number behind it.
std::string Unique(std::string label, std::set<std::string>& taken,
                   std::map<std::string, int>& next) {
  if (taken.insert(label).second) return label;
  int& number = next.emplace(label, 2).first->second;
  while (true) {
    std::string numbered = label + " #" + std::to_string(number++);
    if (taken.insert(numbered).second) return numbered;
  }
}

std::string TrackName(const trace::Trace& trace, const trace::Track& track) {
  const std::string_view name = trace.text(track.name);
  if (!name.empty()) return std::string(name);
  return (track.kind == trace::TrackKind::kDevice ? "stream " : "thread ") +
         std::to_string(track.os_id);
}

}  // namespace

struct Context::State {
  struct Slot {
    std::once_flag made;
    std::shared_ptr<const void> result;
  };
  std::mutex mutex;  // of `slots`: the making of one result waits for no other
  std::map<const void*, Slot> slots;
  std::vector<std::string> processes, tracks;
  std::map<std::pair<uint32_t, std::string_view>, const trace::CounterSeries*> counters;
  std::unique_ptr<const trace::TracksByProcess> by_process;
};

Context::Context(const trace::Trace& trace) : trace_(trace), state_(std::make_unique<State>()) {
  std::set<std::string> keys;
  std::map<std::string, int> next;
  for (const trace::Process& p : trace.processes) {
    std::string key(trace.text(p.key));
    if (key.empty()) key = "p" + std::to_string(p.pid);
    state_->processes.push_back(Unique(std::move(key), keys, next));
  }
  std::map<uint32_t, std::pair<std::set<std::string>, std::map<std::string, int>>> taken;
  for (const trace::Track& t : trace.tracks) {
    auto& [labels, numbers] = taken[t.process.value];
    state_->tracks.push_back(Unique(TrackName(trace, t), labels, numbers));
  }
  state_->by_process = std::make_unique<trace::TracksByProcess>(trace);
  for (const trace::CounterSeries& series : trace.counters) {
    state_->counters.try_emplace({series.process.value, trace.name_text(series.name)}, &series);
  }
}

Context::~Context() = default;

const void* Context::SharedOf(const void* key,
                              std::shared_ptr<const void> (*make)(const Context&)) const {
  State::Slot* slot;
  {
    const std::lock_guard lock(state_->mutex);
    slot = &state_->slots[key];  // a map's elements do not move
  }
  std::call_once(slot->made, [&] { slot->result = make(*this); });
  return slot->result.get();
}

const trace::TracksByProcess& Context::tracks() const { return *state_->by_process; }

const trace::CounterSeries* Context::counter(trace::ProcessId process,
                                             std::string_view name) const {
  const auto at = state_->counters.find({process.value, name});
  return at == state_->counters.end() ? nullptr : at->second;
}

const std::string& Context::process_label(trace::ProcessId process) const {
  static const std::string kNobody;
  return process.value < state_->processes.size() ? state_->processes[process.value] : kNobody;
}

const std::string& Context::track_label(trace::TrackId track) const {
  static const std::string kNobody;
  return track.value < state_->tracks.size() ? state_->tracks[track.value] : kNobody;
}

}  // namespace crosscut::analyze
