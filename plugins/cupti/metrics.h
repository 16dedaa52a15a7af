// Hardware metrics of the kernels that a program launches, or of a whole session; docs/cupti.md.
//
// Per kernel, the range profiler runs from a launch's begin to its end and no further, so that what
// it counted can be no other kernel's: a call that launches none or several, or in which another
// thread launches into the context, is left without metrics and counted.
//
// Threads: Enter(), Exit() and Forget() from any, in CUPTI's callbacks; they never wait. IsRepeat()
// and Take() from one at a time; the rest from one at a time, too.
#pragma once

#include <crosscut/fork_safe_mutex.h>
#include <crosscut/plugin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "api.h"
#include "correlation.h"
#include "options.h"
#include "range_profiler.h"

namespace crosscut::cupti {

class Metrics {
 public:
  // A call that gives a device work, between Enter() and Exit().
  struct Ticket {
    uint32_t session = 0, place = 0, begun = 0;
    bool is_measured = false;
  };

  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A new session: nothing is counted yet.
  void Renew();
  // What is measured from the next Begin() on. `flows`: launches that can wait for their work's
  // records.
  void Ask(const crosscut_host* host, const MetricOptions& options, uint32_t flows);
  // Whether `options` are those of the last Ask().
  bool Knows(const MetricOptions& options) const;
  bool is_asked() const { return asked_.count != 0; }
  // CUPTI is ours, with callbacks for launches or without (`hears`).
  void Begin(const Api* api, bool hears);
  // Ends that: the range profiler is off when it returns.
  void End();
  bool measures() const { return measures_.load(std::memory_order_relaxed); }

  // Around a call that gives work to `context`. `measure`: it launches a kernel, and in no control
  // step.
  Ticket Enter(CUcontext context, bool measure);
  // `flow`: its arrow.
  void Exit(const Ticket& ticket, uint64_t flow);
  // The context is about to go.
  void Forget(CUcontext context);

  // Waits until the launches that are measured now are over, for 300 ms at most: what was measured
  // of a kernel is known then, if its record is here. Not on a thread that the program or CUPTI
  // needs.
  void AwaitOpen() const;

  // What was measured of the launch with that arrow, as the host's word for a JSON object; 0:
  // nothing.
  uint32_t Take(uint64_t flow);
  // Whether that was taken: a further record is of a further pass over the same kernel.
  bool IsRepeat(uint64_t flow) const { return flow != 0 && values_.Find(Key(flow)) == kTaken; }
  // Of the next context that the session measured, the units and, of all that ran in it together,
  // what was measured, likewise; 0: no more.
  uint32_t TakeWindow();
  // Since the last Renew(): words for the plugin's line, "" where there is nothing to say. Whether
  // something that was asked for is missing.
  bool AddOutcome(char* text, size_t bytes);

 private:
  static constexpr uint32_t kMostContexts = 32;
  static constexpr uint64_t kTaken = UINT64_MAX;
  static constexpr size_t kMostText = 8192;
  struct Place {  // of a context
    std::atomic<CUcontext> context{nullptr};
    // Calls that launch into it: ever, and now.
    std::atomic<uint32_t> begun{0};
    std::atomic<int32_t> inside{0};
    std::atomic<bool> is_tried{false};  // to open
    ForkSafeMutex mutex;                // of what follows
    bool is_measuring = false;
    RangeProfiler profiler;
    uint32_t window = 0;  // a word, to be taken
    char text[kMostText];
  };
  static uint32_t Key(uint64_t flow) { return static_cast<uint32_t>(flow); }

  bool Split(const char* names);
  Place* Find(CUcontext context, bool add);
  void OpenOnce(Place* place);
  void Open(Place* place);
  void Measure(Place* place, const Ticket& ticket, uint64_t flow);
  void Close(Place* place);
  uint32_t WordOf(Place* place, const double* values, bool units);
  void Refuse(const char* why);
  void NameUnknown(const char* names);

  const crosscut_host* host_ = nullptr;
  const Api* api_ = nullptr;
  MetricOptions options_;
  RangeProfiler::Asked asked_;
  std::unique_ptr<char[]> names_text_;
  const char* names_[RangeProfiler::kMostMetrics] = {};
  bool too_many_ = false, is_initialized_ = false;
  std::unique_ptr<Place[]> places_;
  ForkSafeMutex adding_;  // a place, and the profiler of one
  CorrelationTable values_;
  bool has_values_ = false;
  std::atomic<bool> measures_{false};
  std::atomic<uint32_t> session_{1};
  std::atomic<uint64_t> launches_{0}, measured_{0}, overlapped_{0}, several_{0}, empty_{0},
      failed_{0}, taken_{0}, passes_{0};
  std::atomic<uint64_t> opened_{0}, closed_{0};  // launches that are measured
  ForkSafeMutex words_mutex_;                    // of the next two
  char why_[300] = {}, unknown_[200] = {};
};

}  // namespace crosscut::cupti
