// The crosscut_host that one plugin gets: its pushes become words of the calling thread's stream.
#pragma once

#include <atomic>
#include <cstdint>

#include "crosscut/plugin.h"
#include "src/base/pod_vector.h"
#include "src/collect/lock.h"
#include "src/host/hooks.h"

namespace crosscut::host {

class PushTable {
 public:
  static constexpr int kMostTracks = 1024;
  static constexpr int kMostClocks = 16;

  // `name` and `hooks` outlive this; `index`: the plugin's number in the process, from 0.
  // `options`: "key=value,key=value", or "".
  PushTable(const char* name, const char* options, const Hooks* hooks);

  // What params->ext of the plugin points at.
  const crosscut_extension* extension() const { return &table_.head; }
  // Pushes are recorded from now on, or dropped.
  void Accept(bool on) { accepts_.store(on, std::memory_order_release); }
  // The calling thread's pushes cost what they cost while recording, and are kept nowhere: the
  // caller has entered Recorder's scratch.
  static void Calibrate(bool on);
  // Tracks, clocks and the clocks' last readings, into a log that has just begun.
  void Republish();
  // Whether the plugin has told its own line in the report.
  bool told() const { return told_.load(std::memory_order_relaxed); }
  // Null members where the plugin set none. Valid as long as this object.
  const crosscut_plugin_callbacks* callbacks() const {
    return callbacks_.load(std::memory_order_acquire);
  }

 private:
  struct Track {
    int64_t device;
    uint64_t queue;
    uint64_t words[6];  // as published
  };
  struct Clock {
    uint32_t id;
    char name[96];
    int64_t reading[3];  // device_ns, host_ns, error_ns
    bool read;
  };

  static PushTable* Of(void* host) { return static_cast<PushTable*>(host); }
  bool Accepts() const;
  static bool Push(void* host, uint32_t track, uint64_t code, const uint64_t* payload, uint32_t n);
  static void ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside, int64_t low,
                        int64_t high, int64_t samples);
  void CopyEnvironment();
  void FillTable();
  void FillFacts();
  void FillSpans();
  void FillPushes();
  void FillClocks();
  const char* Option(const char* key);
  uint32_t AddTrack(const crosscut_track& track);
  uint32_t AddClock(const char* name);
  void Read(uint32_t clock, int64_t host_ns, int64_t device_ns, int64_t error_ns);
  static void Publish(const Track& track);
  static void Publish(const Clock& clock, bool name);
  void SetCallbacks(const crosscut_plugin_callbacks& callbacks);

  crosscut_host table_ = {};
  const char* name_;
  int64_t first_device_ = 0;  // that of the plugin's device 0
  const Hooks* hooks_;
  // Accept() -> Accepts(), on the plugin's threads; its tell() -> told(). Relaxed where they are
  // read: flags by themselves, and a push at the edge may go either way.
  std::atomic<bool> accepts_{false}, told_{false};
  // A NUL after each setting. Without memory for them there are none.
  base::PodVector<char> options_;
  base::PodVector<char> environment_;  // CROSSCUT_PLUGIN_*, without that; never changed later
  crosscut_plugin_callbacks callback_copies_[2] = {};
  // SetCallbacks() -> callbacks(): release and acquire, so that the copy is whole.
  std::atomic<const crosscut_plugin_callbacks*> callbacks_{&callback_copies_[0]};
  record::Mutex<record::LockRank::kPushTable> mutex_;  // of what follows; not over what is written
  Track tracks_[kMostTracks];
  int track_count_ = 0;
  Clock clocks_[kMostClocks];
  int clock_count_ = 0;
};

}  // namespace crosscut::host
