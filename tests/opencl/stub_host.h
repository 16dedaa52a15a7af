// A host of plugins that keeps in memory what is pushed.
#pragma once

#include <crosscut/plugin.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crosscut::opencl {

class StubHost {
 public:
  struct Call {  // a span of a thread
    std::string name;
    std::thread::id thread;
    int64_t begin_ns = 0, end_ns = 0;
    uint64_t flow = 0;
  };
  struct Span {  // a span of a track
    std::string name;
    uint32_t track = 0;
    int64_t begin_ns = 0, end_ns = 0;
    uint64_t flow = 0;
    std::map<std::string, int64_t> args;
  };
  struct Track {
    int64_t device = 0;
    uint64_t queue = 0;
    uint32_t clock = 0;
    std::string name, device_name;
  };
  struct Reading {
    uint32_t clock = 0;
    int64_t host_ns = 0, device_ns = 0, error_ns = 0;
  };
  struct Cost {
    std::string probe;
    int64_t inside_ps, outside_ps, low_ps, high_ps, samples;
  };

  StubHost();
  // Registers with the plugin's TF_InitProfiler and keeps what it gives.
  void Register(void (*init)(TF_ProfilerRegistrationParams*, TF_Status*));

  void Start() { fns_.start(&profiler_, nullptr); }
  void Stop() { fns_.stop(&profiler_, nullptr); }
  size_t Collect();
  void Flush() { callbacks_.flush(callbacks_.self); }
  void Level(uint32_t level) { callbacks_.set_level(callbacks_.self, level); }
  void Calibrate() { callbacks_.calibrate(callbacks_.self); }
  const TP_Profiler& profiler() const { return profiler_; }

  // Nanoseconds of CLOCK_MONOTONIC, which is the host's clock.
  static int64_t Now();

  // Copies of what was pushed since the last Clear().
  std::vector<Call> calls() const;
  std::vector<Span> spans() const;
  std::vector<Reading> readings() const;
  Track track(uint32_t id) const;
  std::string clock(uint32_t id) const;
  uint64_t lost() const;
  std::string told() const;
  const std::vector<Cost>& costs() const { return costs_; }
  // Spans that threads have open now.
  size_t open_spans() const;
  void Clear();
  // Counts what is pushed and keeps nothing.
  void KeepNothing(bool on) { keep_nothing_ = on; }
  uint64_t pushed() const;

 private:
  static StubHost& Of(void* host) { return *static_cast<StubHost*>(host); }
  static void ProbeCost(void* host, uint32_t probe, int64_t inside, int64_t outside, int64_t low,
                        int64_t high, int64_t samples);
  uint32_t Intern(const std::string& text);
  // That the calling thread pushed; null where a Clear() came between. The lock is held.
  Span* LastSpan();
  void FillTable();
  void FillSpans();
  void FillClocks();

  crosscut_host table_ = {};
  TP_Profiler profiler_ = {};
  TP_ProfilerFns fns_ = {};
  crosscut_plugin_callbacks callbacks_ = {};

  mutable std::mutex mutex_;
  std::vector<std::string> names_{""};
  std::vector<Track> tracks_{Track()};
  std::vector<std::string> clocks_{"", "monotonic", "realtime"};
  std::map<std::thread::id, std::vector<size_t>> open_;
  std::map<std::thread::id, size_t> last_span_;
  std::vector<Call> calls_;
  std::vector<Span> spans_;
  std::vector<Reading> readings_;
  std::vector<Cost> costs_;
  uint64_t lost_ = 0, flows_ = 0, pushed_ = 0;
  bool keep_nothing_ = false;
  std::string told_;
};

// The span of `spans` with this name; fails the test where there is not exactly one.
const StubHost::Span& Only(const std::vector<StubHost::Span>& spans, const std::string& name);

}  // namespace crosscut::opencl
