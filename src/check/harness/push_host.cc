#include "src/check/harness/push_host.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "src/base/utf8.h"
#include "src/check/harness/barrier.h"
#include "src/check/harness/board.h"

namespace crosscut::check {
namespace {

constexpr int64_t kSlackNs = 1'000'000;
constexpr size_t kSpansKept = 200'000;  // per session: what nesting is checked on

struct Span {
  uint32_t track;
  int64_t begin, end;
};

struct State {
  std::mutex lock;
  bool open = false;
  int64_t begin_ns = 0;
  PushTally tally;
  std::vector<PushFault> faults;
  std::vector<Span> spans;
  std::map<int64_t, int64_t> depth;  // of begin() by thread
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> names;
  std::map<std::string, uint32_t> words, probes, clocks;
  std::map<std::tuple<int64_t, uint64_t>, uint32_t> tracks;
  std::vector<uint32_t> track_clocks = {0};  // by track id
  std::map<uint32_t, uint64_t> readings;     // by clock
  uint64_t next_flow = 1;
  crosscut_plugin_callbacks callbacks = {};
};

State& state() {
  static State* the_state = new State;  // plugins may push while the process ends
  return *the_state;
}

void Fault(State& s, const char* rule, const std::string& text) {
  const bool known = std::any_of(s.faults.begin(), s.faults.end(),
                                 [&](const PushFault& f) { return strcmp(f.rule, rule) == 0; });
  if (!known) s.faults.push_back({rule, text});
}

std::string TextOf(const char* text, size_t bytes) {
  if (text == nullptr) return "";
  return bytes == SIZE_MAX ? std::string(text) : std::string(text, bytes);
}

void CheckText(State& s, const std::string& text, const char* what) {
  if (const size_t good = base::Utf8Bytes(text); good < text.size()) {
    return Fault(s, "C8.push_text",
                 std::string("a ") + what + " that is pushed is no UTF-8 at byte " +
                     std::to_string(good) + ": convert it first");
  }
  if (text.size() > (size_t{1} << 20)) {
    Fault(s, "C8.push_text", std::string("a ") + what + " is longer than 1 MiB: shorten it");
  }
}

template <class Map, class Key>
uint32_t IdOf(Map& map, const Key& key) {
  return map.try_emplace(key, static_cast<uint32_t>(map.size() + 1)).first->second;
}

void CheckName(State& s, uint32_t name) {
  if (name == 0 || name > s.names.size()) {
    Fault(s, "C8.push_id",
          "something was pushed with name " + std::to_string(name) +
              ", which name() never returned: intern it first, and push nothing "
              "under id 0");
  }
}

// Whether what is pushed counts: in a session, on a track that there is.
bool CheckTrack(State& s, uint32_t track) {
  if (!s.open) {
    ++s.tally.late;
    return false;
  }
  ++s.tally.spans;
  if (track != 0 && track < s.track_clocks.size()) return true;
  Fault(s, "C8.push_id",
        "something was pushed on track " + std::to_string(track) +
            ", which track() never returned: make the track first");
  return false;
}

void CheckTime(State& s, uint32_t track, int64_t begin, int64_t end) {
  if (end < begin) {
    Fault(s, "C8.push_time",
          "a span ends " + std::to_string(begin - end) +
              " ns before it begins: check the order of the two times");
    return;
  }
  const uint32_t clock = s.track_clocks[track];
  if (clock > CROSSCUT_CLOCK_REALTIME) {
    if (s.readings[clock] == 0) {
      Fault(s, "C8.push_clock",
            "a span is on a clock that has no reading yet: call reading() "
            "before the first event");
    }
    return;
  }
  const bool real = clock == CROSSCUT_CLOCK_REALTIME;
  const int64_t shift = real ? RealtimeNs() - MonotonicNs() : 0;
  if (begin - shift < s.begin_ns - kSlackNs || end - shift > MonotonicNs() + kSlackNs) {
    Fault(s, "C8.push_time",
          "a span lies outside its session (" +
              std::to_string((begin - shift - s.begin_ns) / 1000) +
              " us from its start): push ns of the track's clock, and drop "
              "what began before start");
  }
}

#define LOCKED              \
  const HostSide host_side; \
  State& s = state();       \
  const std::lock_guard<std::mutex> held(s.lock)

const char* Option(void*, const char* key) {
  const HostSide host_side;
  return OptionOf(key);
}
void Tell(void*, const char*, const char*, const char*) {}
void SetCallbacks(void*, const crosscut_plugin_callbacks* callbacks) {
  LOCKED;
  s.callbacks = {};
  if (callbacks == nullptr) return;
  memcpy(&s.callbacks, callbacks, std::min(callbacks->struct_size, sizeof s.callbacks));
}
uint32_t Probe(void*, const char* text) {
  LOCKED;
  CheckText(s, TextOf(text, SIZE_MAX), "probe");
  return IdOf(s.probes, TextOf(text, SIZE_MAX));
}
uint32_t Name(void*, const char* text, size_t bytes, uint32_t layer, uint32_t probe) {
  LOCKED;
  const std::string name = TextOf(text, bytes);
  CheckText(s, name, "name");
  if (layer != CROSSCUT_ON_HOST_RUNTIME && layer != CROSSCUT_ON_DEVICE) {
    Fault(s, "C8.push_layer",
          "name() got layer " + std::to_string(layer) +
              ": a plugin's layers are CROSSCUT_ON_HOST_RUNTIME and "
              "CROSSCUT_ON_DEVICE");
  }
  if (probe > s.probes.size()) {
    Fault(s, "C8.push_id", "name() got a probe that probe() never returned");
  }
  return IdOf(s.names, std::make_tuple(name, layer, probe));
}
uint32_t Word(void*, const char* text, size_t bytes) {
  LOCKED;
  CheckText(s, TextOf(text, bytes), "word");
  return IdOf(s.words, TextOf(text, bytes));
}
uint32_t Track(void*, const crosscut_track* track) {
  LOCKED;
  if (track == nullptr || track->struct_size < sizeof(crosscut_track)) {
    Fault(s, "C8.push_id", "track() got a struct whose struct_size is not sizeof(crosscut_track)");
    return 0;
  }
  CheckText(s, TextOf(track->name, SIZE_MAX), "track's name");
  if (track->clock > CROSSCUT_CLOCK_REALTIME + s.clocks.size()) {
    Fault(s, "C8.push_clock", "track() got a clock that clock() never returned");
  }
  const uint32_t id = IdOf(s.tracks, std::make_tuple(track->device, track->queue));
  if (id == s.track_clocks.size()) s.track_clocks.push_back(track->clock);
  return id;
}
void Begin(void*, uint32_t name) {
  LOCKED;
  if (!s.open) {
    ++s.tally.late;
    return;
  }
  CheckName(s, name);
  ++s.tally.spans;
  ++s.depth[syscall(SYS_gettid)];
}
void End(void*) {
  LOCKED;
  if (!s.open) {
    ++s.tally.late;
    return;
  }
  if (--s.depth[syscall(SYS_gettid)] < 0) {
    s.depth[syscall(SYS_gettid)] = 0;
    Fault(s, "C8.push_balance",
          "end() without a begin() on this thread: remember at begin "
          "whether you recorded, and end only what you began");
  }
}
uint64_t FlowOut(void*) {
  LOCKED;
  return s.next_flow++;
}
void PushSpan(void*, uint32_t track, uint32_t name, int64_t begin, int64_t end) {
  LOCKED;
  if (!CheckTrack(s, track)) return;
  CheckName(s, name);
  CheckTime(s, track, begin, end);
  if (s.spans.size() < kSpansKept) s.spans.push_back({track, begin, end});
}
void Instant(void*, uint32_t track, uint32_t name, int64_t at) {
  LOCKED;
  if (!CheckTrack(s, track)) return;
  CheckName(s, name);
  CheckTime(s, track, at, at);
}
void Counter(void* host, uint32_t track, uint32_t name, int64_t at, int64_t) {
  Instant(host, track, name, at);
}
void Arg(void*, uint32_t key, int64_t) {
  LOCKED;
  if (key == 0 || key > s.words.size()) {
    Fault(s, "C8.push_id", "an argument's key was never returned by word()");
  }
}
void ArgWord(void* host, uint32_t key, uint32_t value) {
  Arg(host, key, 0);
  Arg(host, value, 0);
}
void FlowIn(void*, uint64_t flow) {
  LOCKED;
  if (flow >= s.next_flow) Fault(s, "C8.push_id", "flow_in() got a flow that never was given out");
}
void Lost(void*, uint32_t, uint64_t count, int64_t, int64_t) {
  LOCKED;
  s.tally.lost += count;
}
int64_t NowNs(void*) { return MonotonicNs(); }
uint32_t Clock(void*, const char* name) {
  LOCKED;
  return CROSSCUT_CLOCK_REALTIME + IdOf(s.clocks, TextOf(name, SIZE_MAX));
}
void Reading(void*, uint32_t clock, int64_t, int64_t, int64_t) {
  LOCKED;
  ++s.readings[clock];
  if (clock <= CROSSCUT_CLOCK_REALTIME || clock > CROSSCUT_CLOCK_REALTIME + s.clocks.size()) {
    Fault(s, "C8.push_clock", "reading() got a clock that clock() never returned");
  }
}
void ProbeCost(void*, uint32_t, int64_t, int64_t, int64_t, int64_t, int64_t) {}

crosscut_host* Table() {
  static crosscut_host table = {
      {sizeof(crosscut_host), CROSSCUT_EXTENSION_MAGIC, CROSSCUT_EXTENSION_HOST, 1, nullptr},
      nullptr,
      Option,
      Tell,
      SetCallbacks,
      Probe,
      Name,
      Word,
      Track,
      Begin,
      End,
      FlowOut,
      PushSpan,
      Instant,
      Counter,
      Arg,
      ArgWord,
      FlowIn,
      Lost,
      NowNs,
      Clock,
      Reading,
      ProbeCost};
  return &table;
}

// Spans of one track nest or do not touch.
void CheckNesting(State& s) {
  std::stable_sort(s.spans.begin(), s.spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.track, a.begin, b.end) < std::tie(b.track, b.begin, a.end);
  });
  std::vector<const Span*> open;
  for (const Span& span : s.spans) {
    while (!open.empty() && (open.back()->track != span.track || open.back()->end <= span.begin)) {
      open.pop_back();
    }
    if (!open.empty() && open.back()->end < span.end) {
      Fault(s, "C8.push_nesting",
            "two spans of one track overlap without nesting: give "
            "concurrent work tracks of its own");
      return;
    }
    open.push_back(&span);
  }
}

}  // namespace

crosscut_extension* PushHost() { return &Table()->head; }

void BeginPushSession() {
  LOCKED;
  s.open = true;
  s.begin_ns = MonotonicNs();
  s.tally = {};
  s.faults.clear();
  s.spans.clear();
  s.depth.clear();
}

void EndPushSession() {
  LOCKED;
  s.open = false;
}

PushTally Pushed() {
  LOCKED;
  return s.tally;
}

std::vector<PushFault> PushFaults() {
  LOCKED;
  CheckNesting(s);
  for (const auto& [thread, depth] : s.depth) {
    if (depth > 0) {
      Fault(s, "C8.push_balance",
            "begin() without an end() when the session ended: end every "
            "span on the thread that began it");
    }
  }
  if (s.tally.late > 0) {
    Fault(s, "C8.push_late",
          std::to_string(s.tally.late) +
              " events were pushed outside start and stop, where they are "
              "dropped: push what is buffered before stop returns");
  }
  return s.faults;
}

crosscut_plugin_callbacks PushCallbacks() {
  LOCKED;
  return s.callbacks;
}

const char* OptionOf(const char* key) {
  std::string name = "CROSSCUT_PLUGIN_";
  for (const char* at = key; at != nullptr && *at != 0; ++at) {
    name += static_cast<char>(toupper(static_cast<unsigned char>(*at)));
  }
  return getenv(name.c_str());
}

}  // namespace crosscut::check
