#include "recording_host.h"

#include <time.h>

#include <algorithm>

namespace crosscut::cupti {
namespace {

std::string Text(const char* text, size_t bytes) {
  return bytes == SIZE_MAX ? std::string(text) : std::string(text, bytes);
}

int64_t Monotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

RecordingHost::RecordingHost() {
  abi_.head = {sizeof(crosscut_host), CROSSCUT_EXTENSION_MAGIC, CROSSCUT_EXTENSION_HOST, 1,
               nullptr};
  abi_.host = this;
  FillNames();
  FillCalls();
  FillTracks();
  FillClocks();
}

uint32_t RecordingHost::Id(std::vector<std::string>* texts, const std::string& text) {
  const auto at = std::find(texts->begin(), texts->end(), text);
  if (at != texts->end()) return static_cast<uint32_t>(at - texts->begin()) + 1;
  texts->push_back(text);
  return static_cast<uint32_t>(texts->size());
}

RecordingHost::Event* RecordingHost::LastOfThread() {
  const auto last = last_.find(std::this_thread::get_id());
  if (last == last_.end()) return nullptr;
  return last->second.is_call ? &calls[last->second.at] : &events[last->second.at];
}

void RecordingHost::FillNames() {
  abi_.option = [](void* host, const char* key) -> const char* {
    const auto found = Of(host)->options.find(key);
    return found == Of(host)->options.end() ? nullptr : found->second.c_str();
  };
  abi_.tell = [](void* host, const char* version, const char* state, const char* message) {
    Of(host)->told.push_back({version, state, message});
  };
  abi_.set_callbacks = [](void* host, const crosscut_plugin_callbacks* callbacks) {
    Of(host)->callbacks = *callbacks;
  };
  abi_.probe = [](void* host, const char* text) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    return Of(host)->Id(&Of(host)->words_, text);
  };
  abi_.word = [](void* host, const char* text, size_t bytes) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    return Of(host)->Id(&Of(host)->words_, Text(text, bytes));
  };
  abi_.name = [](void* host, const char* text, size_t bytes, uint32_t layer, uint32_t probe) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    const std::string name = Text(text, bytes);
    const uint32_t id = Of(host)->Id(
        &Of(host)->names_, name + '\n' + std::to_string(layer) + '\n' + std::to_string(probe));
    if (id > Of(host)->name_facts_.size()) {
      Event facts = {};
      facts.name = name;
      facts.layer = layer;
      facts.probe = probe;
      Of(host)->name_facts_.push_back(facts);
    }
    return id;
  };
  abi_.track = [](void* host, const crosscut_track* track) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    auto& tracks = Of(host)->tracks;
    const Track made = {track->device, track->queue, track->clock, track->name,
                        track->device_name == nullptr ? "" : track->device_name};
    for (size_t i = 0; i < tracks.size(); ++i) {
      const Track& old = tracks[i];
      if (old.device == made.device && old.queue == made.queue && old.clock == made.clock &&
          old.name == made.name) {
        return static_cast<uint32_t>(i + 1);
      }
    }
    tracks.push_back(made);
    return static_cast<uint32_t>(tracks.size());
  };
}

void RecordingHost::FillCalls() {
  abi_.begin = [](void* host, uint32_t name) {
    RecordingHost& self = *Of(host);
    std::lock_guard<std::mutex> lock(self.mutex_);
    Event event = self.name_facts_.at(name - 1);
    event.thread = std::this_thread::get_id();
    self.open_[event.thread].push_back(self.calls.size());
    self.last_[event.thread] = {true, self.calls.size()};
    self.calls.push_back(event);
    ++self.open_calls;
  };
  abi_.end = [](void* host) {
    RecordingHost& self = *Of(host);
    std::lock_guard<std::mutex> lock(self.mutex_);
    auto& open = self.open_[std::this_thread::get_id()];
    if (open.empty()) {
      ++self.ends_without_begin;
      return;
    }
    open.pop_back();
    --self.open_calls;
  };
  abi_.flow_out = [](void* host) -> uint64_t {
    RecordingHost& self = *Of(host);
    std::lock_guard<std::mutex> lock(self.mutex_);
    const auto& open = self.open_[std::this_thread::get_id()];
    if (open.empty()) return 0;
    return self.calls[open.back()].flow_out = ++self.flows_;
  };
}

void RecordingHost::Push(Event event) {
  std::lock_guard<std::mutex> lock(mutex_);
  last_[std::this_thread::get_id()] = {false, events.size()};
  events.push_back(std::move(event));
}

void RecordingHost::FillTracks() {
  abi_.span = [](void* host, uint32_t track, uint32_t name, int64_t begin_ns, int64_t end_ns) {
    Event event = Of(host)->name_facts_.at(name - 1);
    event.track = track;
    event.begin_ns = begin_ns;
    event.end_ns = end_ns;
    Of(host)->Push(event);
  };
  abi_.instant = [](void* host, uint32_t track, uint32_t name, int64_t at_ns) {
    Event event = Of(host)->name_facts_.at(name - 1);
    event.track = track;
    event.begin_ns = event.end_ns = at_ns;
    event.is_instant = true;
    Of(host)->Push(event);
  };
  abi_.arg = [](void* host, uint32_t key, int64_t value) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    if (Event* event = Of(host)->LastOfThread()) {
      event->args[Of(host)->words_.at(key - 1)] = value;
    }
  };
  abi_.arg_word = [](void* host, uint32_t key, uint32_t value) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    if (Event* event = Of(host)->LastOfThread()) {
      event->words[Of(host)->words_.at(key - 1)] = Of(host)->words_.at(value - 1);
    }
  };
  abi_.flow_in = [](void* host, uint64_t flow) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    if (Event* event = Of(host)->LastOfThread()) event->flow_in = flow;
  };
  abi_.lost = [](void* host, uint32_t, uint64_t count, int64_t begin_ns, int64_t end_ns) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    Of(host)->lost.push_back({count, begin_ns, end_ns});
  };
}

void RecordingHost::ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside,
                              int64_t low, int64_t high, int64_t samples) {
  std::lock_guard<std::mutex> lock(Of(host)->mutex_);
  Of(host)->probe_cost = {inside, outside, low, high, samples};
  Of(host)->probe_costs[Of(host)->words_.at(probe - 1)] = Of(host)->probe_cost;
}

void RecordingHost::FillClocks() {
  abi_.now_ns = [](void* host) { return Of(host)->now_ns.value_or(Monotonic()); };
  abi_.clock = [](void*, const char*) -> uint32_t { return 1000; };
  abi_.reading = [](void* host, uint32_t, int64_t host_ns, int64_t device_ns, int64_t error_ns) {
    std::lock_guard<std::mutex> lock(Of(host)->mutex_);
    Of(host)->readings.push_back({host_ns, device_ns, error_ns});
  };
  abi_.probe_cost = &RecordingHost::ProbeCost;
}

std::vector<RecordingHost::Event> RecordingHost::Named(const std::string& name) const {
  std::vector<Event> found;
  for (const Event& event : events) {
    if (event.name == name) found.push_back(event);
  }
  return found;
}

int RecordingHost::Crossings() const {
  int crossings = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    for (size_t j = i + 1; j < events.size(); ++j) {
      const Event *a = &events[i], *b = &events[j];
      if (a->track != b->track || a->is_instant || b->is_instant) continue;
      if (a->begin_ns > b->begin_ns) std::swap(a, b);
      crossings += a->begin_ns < b->begin_ns && b->begin_ns < a->end_ns && a->end_ns < b->end_ns;
    }
  }
  return crossings;
}

uint64_t RecordingHost::LostInAll() const {
  uint64_t count = 0;
  for (const Lost& loss : lost) count += loss.count;
  return count;
}

}  // namespace crosscut::cupti
