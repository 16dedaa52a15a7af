#include "src/host/push_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "crosscut/crosscut.h"
#include "src/base/time.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/host/program_options.h"

namespace crosscut::host {
namespace {

using record::Recorder;

// Where the calling thread last pushed: arguments and arrows belong there. 0: to its own spans.
__thread uint32_t last_track __attribute__((tls_model("initial-exec"))) = 0;

// Begins of the calling thread that were not recorded and have not ended yet: their ends are none.
__thread uint32_t refused_begins __attribute__((tls_model("initial-exec"))) = 0;

__thread bool calibrating __attribute__((tls_model("initial-exec"))) = false;

// Devices of different plugins are different devices: they begin at different numbers, those of the
// first plugin that has any at 0.
constexpr int64_t kDevicesOfAPlugin = 1000;
std::atomic<int64_t> next_devices{0};  // AddTrack() takes, each once, by the addition alone

std::atomic<uint32_t> next_clock{format::kFirstPluginClock};  // AddClock(), likewise

uint32_t Intern(const char* text, size_t bytes, const format::NameAttributes& attributes) {
  if (text == nullptr) return 0;
  return Recorder::Get().stream().Intern({text, bytes == SIZE_MAX ? strlen(text) : bytes},
                                         attributes.Pack());
}

uint32_t Word(const char* text, size_t bytes = SIZE_MAX) {
  return Intern(text, bytes, {format::kKindText, format::kLayerNone, 0, 0});
}

uint64_t Bits(int64_t value) { return static_cast<uint64_t>(value); }

// The value of `key`, each character of it passed through `as`, among "KEY=value" with a NUL after
// each; else null.
const char* Find(std::span<const char> settings, const char* key, char (*as)(char)) {
  const size_t length = strlen(key);
  for (const char* at = settings.data(); at < settings.data() + settings.size();
       at += strlen(at) + 1) {
    size_t same = 0;
    while (same < length && at[same] == as(key[same])) ++same;
    if (same == length && at[length] == '=') return at + length + 1;
  }
  return nullptr;
}

char Same(char c) { return c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

PushTable::PushTable(const char* name, const char* options, const Hooks* hooks)
    : name_(name), hooks_(hooks) {
  if (options_.Append(options, strlen(options) + 1)) {
    std::replace(options_.data(), options_.data() + options_.size(), ',', '\0');
  }
  CopyEnvironment();
  FillTable();
}

// Now, on the program's thread: the plugin asks on another, while the program may set variables.
void PushTable::CopyEnvironment() {
  if (getauxval(AT_SECURE) != 0) return;
  constexpr char kPrefix[] = "CROSSCUT_PLUGIN_";
  constexpr size_t kSkip = sizeof kPrefix - 1;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (strncmp(*at, kPrefix, kSkip) != 0) continue;
    if (!environment_.Append(*at + kSkip, strlen(*at + kSkip) + 1)) return;
  }
}

void PushTable::Calibrate(bool on) { calibrating = on; }

bool PushTable::Accepts() const { return accepts_.load(std::memory_order_relaxed) || calibrating; }

bool PushTable::Push(void* host, uint32_t track, uint64_t code, const uint64_t* payload,
                     uint32_t n) {
  if (track == 0 || !Of(host)->Accepts()) return false;
  last_track = track;
  return Recorder::Get().Push(code, payload, n);
}

void PushTable::FillTable() {
  FillFacts();
  FillSpans();
  FillPushes();
  FillClocks();
}

void PushTable::FillFacts() {
  table_.head = {sizeof(crosscut_host), CROSSCUT_EXTENSION_MAGIC, CROSSCUT_EXTENSION_HOST, 1,
                 nullptr};
  table_.host = this;
  table_.option = [](void* host, const char* key) { return Of(host)->Option(key); };
  table_.tell = [](void* host, const char* version, const char* state, const char* message) {
    Of(host)->told_.store(true, std::memory_order_relaxed);
    Of(host)->hooks_->tell(Of(host)->name_, version, state, message);
  };
  table_.set_callbacks = [](void* host, const crosscut_plugin_callbacks* callbacks) {
    if (callbacks != nullptr) Of(host)->SetCallbacks(*callbacks);
  };
  table_.probe = [](void*, const char* text) { return Word(text); };
  table_.name = [](void*, const char* text, size_t bytes, uint32_t layer, uint32_t probe) {
    return Intern(text, bytes, {format::kKindSpan, static_cast<format::Layer>(layer), 0, probe});
  };
  table_.word = [](void*, const char* text, size_t bytes) { return Word(text, bytes); };
  table_.track = [](void* host, const crosscut_track* track) {
    return track == nullptr || track->struct_size < sizeof *track ? 0 : Of(host)->AddTrack(*track);
  };
}

void PushTable::FillSpans() {
  table_.begin = [](void* host, uint32_t name) {
    const bool accepts = name != 0 && Of(host)->Accepts();
    last_track = 0;
    accepts ? crosscut_begin(name) : static_cast<void>(++refused_begins);
  };
  table_.end = [](void*) {
    refused_begins == 0 ? crosscut_end() : static_cast<void>(--refused_begins);
  };
  table_.flow_out = [](void* host) -> uint64_t {
    if (!Of(host)->Accepts() || !crosscut_recording()) return 0;
    const uint64_t flow = crosscut_flow_id();
    crosscut_flow_out(flow);
    return flow;
  };
}

void PushTable::FillPushes() {
  table_.span = [](void* host, uint32_t track, uint32_t name, int64_t begin, int64_t end) {
    const uint64_t payload[4] = {track, name, Bits(begin), Bits(end)};
    if (name != 0) Push(host, track, format::kSpanOn, payload, 4);
  };
  table_.instant = [](void* host, uint32_t track, uint32_t name, int64_t at) {
    const uint64_t payload[3] = {track, name, Bits(at)};
    if (name != 0) Push(host, track, format::kInstantOn, payload, 3);
  };
  table_.counter = [](void* host, uint32_t track, uint32_t name, int64_t at, int64_t value) {
    const uint64_t payload[4] = {track, name, Bits(at), Bits(value)};
    if (name != 0) Push(host, track, format::kCounterOn, payload, 4);
  };
  table_.arg = [](void* host, uint32_t key, int64_t value) {
    const uint64_t payload[3] = {last_track, key, Bits(value)};
    if (last_track == 0) return crosscut_arg(key, value);
    Push(host, last_track, format::kArgOn, payload, 3);
  };
  table_.arg_word = [](void* host, uint32_t key, uint32_t value) {
    const uint64_t payload[3] = {last_track, key, value};
    if (last_track == 0) return crosscut_arg_name(key, value);
    Push(host, last_track, format::kArgNameOn, payload, 3);
  };
  table_.flow_in = [](void* host, uint64_t flow) {
    const uint64_t payload[2] = {last_track, flow};
    if (flow == 0) return;
    if (last_track == 0) return crosscut_flow_in(flow);
    Push(host, last_track, format::kFlowOn, payload, 2);
  };
  table_.lost = [](void* host, uint32_t track, uint64_t count, int64_t begin, int64_t end) {
    const uint64_t payload[4] = {track, count, Bits(begin), Bits(end)};
    if (!Of(host)->Accepts()) return;
    Recorder::Get().Push(format::kDropOn, payload, 4);
  };
}

void PushTable::FillClocks() {
  table_.now_ns = [](void*) { return base::MonotonicNs(); };
  table_.clock = [](void* host, const char* name) {
    return name == nullptr ? 0 : Of(host)->AddClock(name);
  };
  table_.reading = [](void* host, uint32_t clock, int64_t host_ns, int64_t device_ns,
                      int64_t error_ns) { Of(host)->Read(clock, host_ns, device_ns, error_ns); };
  table_.probe_cost = &PushTable::ProbeCost;
}

void PushTable::ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside, int64_t low,
                          int64_t high, int64_t samples) {
  const int64_t figures[5] = {inside, outside, low, high, samples};
  Of(host)->hooks_->probe_cost(probe, figures);
}

const char* PushTable::Option(const char* key) {
  if (key == nullptr) return nullptr;
  if (const char* ours = ProgramOption(key)) return ours;
  const char* set = Find({options_.data(), options_.size()}, key, Same);
  return set != nullptr ? set : Find({environment_.data(), environment_.size()}, key, Upper);
}

uint32_t PushTable::AddTrack(const crosscut_track& track) {
  const uint32_t clock = track.clock == 0 ? uint32_t{CROSSCUT_CLOCK_MONOTONIC} : track.clock;
  const uint64_t name = Word(track.name), device_name = Word(track.device_name);
  Track added;
  {
    const record::Lock lock(&mutex_);
    for (int i = 0; i < track_count_; ++i) {
      if (tracks_[i].device == track.device && tracks_[i].queue == track.queue) {
        return static_cast<uint32_t>(tracks_[i].words[0]);
      }
    }
    if (track_count_ == kMostTracks) return 0;
    if (track_count_ == 0) first_device_ = next_devices.fetch_add(kDevicesOfAPlugin);
    added = {track.device,
             track.queue,
             {Recorder::Get().NewTrack(), Bits(track.device + first_device_), track.queue, clock,
              name, device_name}};
    tracks_[track_count_] = added;
    ++track_count_;  // last: a forked child goes by it
  }
  Publish(added);
  return static_cast<uint32_t>(added.words[0]);
}

uint32_t PushTable::AddClock(const char* name) {
  Clock added = {};
  snprintf(added.name, sizeof added.name, "%s: %s", name_, name);
  {
    const record::Lock lock(&mutex_);
    for (int i = 0; i < clock_count_; ++i) {
      if (strcmp(clocks_[i].name, added.name) == 0) return clocks_[i].id;
    }
    if (clock_count_ == kMostClocks) return 0;
    added.id = next_clock.fetch_add(1);
    clocks_[clock_count_] = added;
    ++clock_count_;
  }
  Publish(added, /*name=*/true);
  return added.id;
}

void PushTable::Read(uint32_t clock, int64_t host_ns, int64_t device_ns, int64_t error_ns) {
  Clock read = {};
  {
    const record::Lock lock(&mutex_);
    for (int i = 0; i < clock_count_; ++i) {
      if (clocks_[i].id != clock) continue;
      clocks_[i].reading[0] = device_ns;
      clocks_[i].reading[1] = host_ns;
      clocks_[i].reading[2] = error_ns;
      clocks_[i].read = true;
      read = clocks_[i];
    }
  }
  if (read.read) Publish(read, /*name=*/false);
}

void PushTable::Publish(const Track& track) {
  (void)Recorder::Get().stream().Write(record::ClockNow(), format::kTrack, track.words, 6);
}

void PushTable::Publish(const Clock& clock, bool name) {
  if (name) {
    char key[32];
    snprintf(key, sizeof key, "clock:%u", clock.id);
    (void)Recorder::Get().stream().WriteMeta(key, clock.name);
  }
  if (!clock.read) return;
  const uint64_t payload[4] = {clock.id, Bits(clock.reading[0]), Bits(clock.reading[1]),
                               Bits(clock.reading[2])};
  (void)Recorder::Get().stream().Write(record::ClockNow(), format::kAnchor, payload, 4);
}

void PushTable::Republish() {
  for (int i = 0;; ++i) {
    Track track;
    {
      const record::Lock lock(&mutex_);
      if (i == track_count_) break;
      track = tracks_[i];
    }
    Publish(track);
  }
  for (int i = 0;; ++i) {
    Clock clock;
    {
      const record::Lock lock(&mutex_);
      if (i == clock_count_) break;
      clock = clocks_[i];
    }
    Publish(clock, /*name=*/true);
  }
}

// Two copies in turn, so that who reads one is not surprised; a plugin sets them once, as a rule.
void PushTable::SetCallbacks(const crosscut_plugin_callbacks& callbacks) {
  const record::Lock lock(&mutex_);
  const bool first = callbacks_.load() == &callback_copies_[0];
  crosscut_plugin_callbacks& copy = callback_copies_[first ? 1 : 0];
  copy = {};
  const size_t bytes = callbacks.struct_size < sizeof copy ? callbacks.struct_size : sizeof copy;
  memcpy(static_cast<void*>(&copy), &callbacks, bytes);
  callbacks_.store(&copy, std::memory_order_release);
}

}  // namespace crosscut::host
