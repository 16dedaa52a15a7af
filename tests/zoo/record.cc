// What the zoo's plugin records and pushes, and the defects of that.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/zoo/plugin.h"

namespace zoo {
namespace {

// Pushes rather than encodes, where the host offers it.
constexpr bool kPushes = IS(push) || IS(push_unknown_name) || IS(push_unknown_track) ||
                         IS(push_backwards) || IS(push_out_of_session) || IS(push_overlapping) ||
                         IS(push_unbalanced) || IS(push_late) || IS(push_bad_text) ||
                         IS(push_wrong_layer) || IS(push_clock_unread);

int64_t Now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// Room for one more event; false where it is dropped.
bool MakeRoom(State& s) {
  if (s.count < s.room) return true;
  if (!IS(unbounded_memory)) return false;
  s.room *= 2;
  s.events = static_cast<Event*>(realloc(s.events, s.room * sizeof(Event)));
  if (s.events == nullptr) abort();
  return true;
}

void OnWork(void*, int64_t begin_real_ns, int64_t begin_ns, int64_t length_ns) {
  State& s = state();
  if (IS(slow_hooks)) Spin(3000);
  if (IS(hangs_in_forked_child)) {
    static const pid_t parent = getpid();
    while (getpid() != parent) usleep(1000);
  }
  if (IS(throws_without_memory)) delete[] new char[64];
  pthread_mutex_lock(&lock);
  if (s.recording && begin_real_ns >= s.began_real_ns) {
    if (MakeRoom(s)) {
      s.events[s.count++] = {begin_real_ns, begin_ns, length_ns};
    } else {
      ++s.dropped;
    }
  }
  pthread_mutex_unlock(&lock);
  if (IS(push_late) && !s.running && s.host != nullptr)
    s.host->span(s.host->host, 1, 1, begin_ns, begin_ns);
}

void PushEvents(const State& s, uint32_t track, uint32_t name) {
  const crosscut_host* h = s.host;
  for (uint32_t i = 0; i < s.count; ++i) {
    const Event& event = s.events[i];
    const int64_t end = event.begin_ns + event.length_ns;
    const int64_t shift = IS(push_out_of_session) ? -2000000000 : 0;
    h->span(h->host, IS(push_unknown_track) ? 999 : track, IS(push_unknown_name) ? 999 : name,
            event.begin_ns + shift, end + shift);
    if (IS(push_backwards)) h->span(h->host, track, name, end + 5, end);
  }
  if (IS(push_overlapping) && s.count > 0) {
    const int64_t at = s.events[s.count - 1].begin_ns;
    h->span(h->host, track, name, at - 3000, at - 1000);
    h->span(h->host, track, name, at - 2000, at - 500);
  }
}

uint32_t MakeTrack(const crosscut_host* h) {
  crosscut_track track = {sizeof track, 0, 0, 0, "Queue 0", "ZOO 1"};
  if (IS(push_clock_unread)) track.clock = h->clock(h->host, "zoo");
  return h->track(h->host, &track);
}

void Push(const State& s) {
  const crosscut_host* h = s.host;
  const uint32_t probe = h->probe(h->host, "zoo hook");
  const uint32_t name = h->name(h->host, IS(push_bad_text) ? "kernel \xff" : "kernel", SIZE_MAX,
                                IS(push_wrong_layer) ? 5 : CROSSCUT_ON_DEVICE, probe);
  const uint32_t call = h->name(h->host, "zooLaunch", SIZE_MAX, CROSSCUT_ON_HOST_RUNTIME, probe);
  h->begin(h->host, call);
  const uint64_t flow = h->flow_out(h->host);
  if (!IS(push_unbalanced)) h->end(h->host);
  const uint32_t track = MakeTrack(h);
  PushEvents(s, track, name);
  h->flow_in(h->host, flow);
  h->arg(h->host, h->word(h->host, "grid", SIZE_MAX), 256);
  if (s.dropped > 0) h->lost(h->host, track, s.dropped, s.began_ns, Now(CLOCK_MONOTONIC));
}

void Forget(State& s) {
  if (!IS(keeps_uncollected)) s.count = 0;
  s.dropped = 0;
  s.queried = false;
  if (!IS(keeps_collected)) s.bytes_size = 0;
}

}  // namespace

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

State& state() {
  static State s = {};
  return s;
}

void Spin(int64_t ns) {
  const int64_t end = Now(CLOCK_MONOTONIC) + ns;
  while (Now(CLOCK_MONOTONIC) < end) {
  }
}

void BeginRecording() {
  State& s = state();
  if (IS(big_and_slow)) usleep(s.sessions < 4 ? 30000 : 10);
  pthread_mutex_lock(&lock);
  if (s.events == nullptr) {
    s.room = kMostEvents;
    s.events = static_cast<Event*>(malloc(s.room * sizeof(Event)));
  }
  Forget(s);
  s.began_real_ns = Now(CLOCK_REALTIME);
  s.began_ns = Now(CLOCK_MONOTONIC);
  s.recording =
      s.events != nullptr && !(IS(forgets_session_137) && s.sessions >= 137 && s.sessions < 150);
  s.running = true;
  pthread_mutex_unlock(&lock);
  device_listen(OnWork, nullptr);
}

void EndRecording() {
  State& s = state();
  if (!IS(hooks_while_idle) && !IS(push_late)) device_listen(nullptr, nullptr);
  pthread_mutex_lock(&lock);
  const bool was_running = s.running;
  s.recording = s.running = false;
  if (IS(drops_silently)) s.dropped = 0;
  if (kPushes && s.host != nullptr && was_running && s.count > 0) {
    Push(s);
    s.count = 0;
  }
  if (IS(big_and_slow) && was_running) usleep(s.sessions < 4 ? 50000 : 10);
  pthread_mutex_unlock(&lock);
}

}  // namespace zoo
