// A host of plugins that keeps in memory what it is given, for tests.
#pragma once

#include <crosscut/plugin.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace crosscut::cupti {

class RecordingHost {
 public:
  struct Event {
    std::string name;
    uint32_t layer, probe, track;
    int64_t begin_ns, end_ns;
    bool is_instant;
    std::thread::id thread;  // of spans of threads
    uint64_t flow_out, flow_in;
    std::map<std::string, int64_t> args;
    std::map<std::string, std::string> words;  // arguments that are words
  };
  struct Track {
    int64_t device;
    uint64_t queue;
    uint32_t clock;
    std::string name, device_name;
  };
  struct Reading {
    int64_t host_ns, device_ns, error_ns;
  };
  struct Lost {
    uint64_t count;
    int64_t begin_ns, end_ns;
  };
  struct Told {
    std::string version, state, message;
  };

  RecordingHost();
  const crosscut_host* abi() const { return &abi_; }

  // What follows is for the test's thread, while nothing is pushed.
  std::map<std::string, std::string> options;
  std::vector<Event> calls;   // spans of threads, as they began
  std::vector<Event> events;  // of tracks
  std::vector<Track> tracks;  // id - 1
  std::vector<Reading> readings;
  std::vector<Lost> lost;
  std::vector<Told> told;
  std::vector<int64_t> probe_cost;  // the last: inside, outside, low, high, samples
  std::map<std::string, std::vector<int64_t>> probe_costs;  // by probe
  crosscut_plugin_callbacks callbacks = {};
  int ends_without_begin = 0;
  int open_calls = 0;
  // Instead of CLOCK_MONOTONIC.
  std::optional<int64_t> now_ns;

  const Track& TrackOf(const Event& event) const { return tracks.at(event.track - 1); }
  std::vector<Event> Named(const std::string& name) const;
  // Pairs of spans of one track that overlap without nesting: the ABI forbids them.
  int Crossings() const;
  uint64_t LostInAll() const;
  const Told& Last() const { return told.back(); }

 private:
  static RecordingHost* Of(void* host) { return static_cast<RecordingHost*>(host); }
  Event* LastOfThread();
  uint32_t Id(std::vector<std::string>* texts, const std::string& text);
  void FillNames();
  void FillCalls();
  void FillTracks();
  void Push(Event event);
  static void ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside, int64_t low,
                        int64_t high, int64_t samples);
  void FillClocks();

  crosscut_host abi_ = {};
  std::mutex mutex_;
  std::vector<std::string> words_;
  std::vector<std::string> names_;  // with layer and probe appended
  std::vector<Event> name_facts_;
  struct Latest {
    bool is_call;
    size_t at;
  };
  std::map<std::thread::id, Latest> last_;
  std::map<std::thread::id, std::vector<size_t>> open_;
  uint64_t flows_ = 0;
};

}  // namespace crosscut::cupti
