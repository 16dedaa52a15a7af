#include "stub_host.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>

namespace crosscut::opencl {
namespace {

using Lock = std::lock_guard<std::mutex>;

}  // namespace

int64_t StubHost::Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

StubHost::StubHost() {
  table_.head = {sizeof table_, CROSSCUT_EXTENSION_MAGIC, CROSSCUT_EXTENSION_HOST, 1, nullptr};
  table_.host = this;
  FillTable();
  FillSpans();
  FillClocks();
}

void StubHost::FillTable() {
  table_.option = [](void*, const char*) -> const char* { return nullptr; };
  table_.tell = [](void* host, const char*, const char* state, const char* message) {
    const Lock lock(Of(host).mutex_);
    Of(host).told_ = std::string(state) + ": " + message;
  };
  table_.set_callbacks = [](void* host, const crosscut_plugin_callbacks* callbacks) {
    Of(host).callbacks_ = *callbacks;
  };
  table_.probe = [](void* host, const char* text) { return Of(host).Intern(text); };
  table_.name = [](void* host, const char* text, size_t bytes, uint32_t, uint32_t) {
    return Of(host).Intern(bytes == SIZE_MAX ? text : std::string(text, bytes));
  };
  table_.word = [](void* host, const char* text, size_t) { return Of(host).Intern(text); };
  table_.track = [](void* host, const crosscut_track* track) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    for (size_t i = 1; i < self.tracks_.size(); ++i) {
      const Track& old = self.tracks_[i];
      if (old.device == track->device && old.queue == track->queue) return static_cast<uint32_t>(i);
    }
    self.tracks_.push_back(
        {track->device, track->queue, track->clock, track->name, track->device_name});
    return static_cast<uint32_t>(self.tracks_.size() - 1);
  };
}

void StubHost::FillSpans() {
  table_.begin = [](void* host, uint32_t name) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    const auto thread = std::this_thread::get_id();
    self.open_[thread].push_back(self.calls_.size());
    self.calls_.push_back({self.names_.at(name), thread, Now(), 0, 0});
  };
  table_.end = [](void* host) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    std::vector<size_t>& open = self.open_[std::this_thread::get_id()];
    ASSERT_FALSE(open.empty()) << "end without begin";
    self.calls_[open.back()].end_ns = Now();
    open.pop_back();
    ++self.pushed_;
    if (self.keep_nothing_ && open.empty()) self.calls_.clear();
  };
  table_.flow_out = [](void* host) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    std::vector<size_t>& open = self.open_[std::this_thread::get_id()];
    EXPECT_FALSE(open.empty()) << "flow_out outside a span";
    const uint64_t flow = ++self.flows_;
    if (!open.empty()) self.calls_[open.back()].flow = flow;
    return flow;
  };
  table_.span = [](void* host, uint32_t track, uint32_t name, int64_t begin, int64_t end) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    ++self.pushed_;
    if (self.keep_nothing_) self.spans_.clear();
    self.last_span_[std::this_thread::get_id()] = self.spans_.size();
    self.spans_.push_back({self.names_.at(name), track, begin, end, 0, {}});
  };
  table_.arg = [](void* host, uint32_t key, int64_t value) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    Span* span = self.LastSpan();
    if (span != nullptr) span->args[self.names_.at(key)] = value;
  };
  table_.flow_in = [](void* host, uint64_t flow) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    Span* span = self.LastSpan();
    if (span != nullptr) span->flow = flow;
  };
  table_.lost = [](void* host, uint32_t, uint64_t count, int64_t begin, int64_t end) {
    EXPECT_LE(begin, end);
    const Lock lock(Of(host).mutex_);
    Of(host).lost_ += count;
  };
}

void StubHost::FillClocks() {
  table_.now_ns = [](void*) { return Now(); };
  table_.clock = [](void* host, const char* name) {
    StubHost& self = Of(host);
    const Lock lock(self.mutex_);
    self.clocks_.emplace_back(name);
    return static_cast<uint32_t>(self.clocks_.size() - 1);
  };
  table_.reading = [](void* host, uint32_t clock, int64_t host_ns, int64_t device, int64_t error) {
    const Lock lock(Of(host).mutex_);
    if (!Of(host).keep_nothing_) Of(host).readings_.push_back({clock, host_ns, device, error});
  };
  table_.probe_cost = &StubHost::ProbeCost;
}

void StubHost::ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside, int64_t low,
                         int64_t high, int64_t samples) {
  const Lock lock(Of(host).mutex_);
  Of(host).costs_.push_back({Of(host).names_.at(probe), inside, outside, low, high, samples});
}

void StubHost::Register(void (*init)(TF_ProfilerRegistrationParams*, TF_Status*)) {
  TF_ProfilerRegistrationParams params = {};
  params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params.ext = &table_;
  params.profiler = &profiler_;
  params.profiler_fns = &fns_;
  profiler_.struct_size = TP_PROFILER_STRUCT_SIZE;
  fns_.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  init(&params, nullptr);
  ASSERT_NE(params.destroy_profiler, nullptr);
  ASSERT_NE(params.destroy_profiler_fns, nullptr);
}

size_t StubHost::Collect() {
  size_t size = 12345;
  fns_.collect_data_xspace(&profiler_, nullptr, &size, nullptr);
  return size;
}

uint32_t StubHost::Intern(const std::string& text) {
  const Lock lock(mutex_);
  const auto found = std::find(names_.begin() + 1, names_.end(), text);
  if (found != names_.end()) return static_cast<uint32_t>(found - names_.begin());
  names_.push_back(text);
  return static_cast<uint32_t>(names_.size() - 1);
}

StubHost::Span* StubHost::LastSpan() {
  const auto found = last_span_.find(std::this_thread::get_id());
  const bool kept = found != last_span_.end() && found->second < spans_.size();
  return kept ? &spans_[found->second] : nullptr;
}

std::vector<StubHost::Call> StubHost::calls() const {
  const Lock lock(mutex_);
  return calls_;
}

std::vector<StubHost::Span> StubHost::spans() const {
  const Lock lock(mutex_);
  return spans_;
}

std::vector<StubHost::Reading> StubHost::readings() const {
  const Lock lock(mutex_);
  return readings_;
}

StubHost::Track StubHost::track(uint32_t id) const {
  const Lock lock(mutex_);
  return tracks_.at(id);
}

std::string StubHost::clock(uint32_t id) const {
  const Lock lock(mutex_);
  return clocks_.at(id);
}

uint64_t StubHost::lost() const {
  const Lock lock(mutex_);
  return lost_;
}

uint64_t StubHost::pushed() const {
  const Lock lock(mutex_);
  return pushed_;
}

std::string StubHost::told() const {
  const Lock lock(mutex_);
  return told_;
}

size_t StubHost::open_spans() const {
  const Lock lock(mutex_);
  size_t count = 0;
  for (const auto& [thread, open] : open_) count += open.size();
  return count;
}

void StubHost::Clear() {
  const Lock lock(mutex_);
  calls_.clear();
  spans_.clear();
  last_span_.clear();
  lost_ = 0;
}

const StubHost::Span& Only(const std::vector<StubHost::Span>& spans, const std::string& name) {
  static const StubHost::Span kNone;
  const StubHost::Span* found = &kNone;
  int count = 0;
  for (const StubHost::Span& span : spans) {
    if (span.name != name) continue;
    found = &span;
    ++count;
  }
  EXPECT_EQ(count, 1) << "spans named " << name;
  return *found;
}

}  // namespace crosscut::opencl
