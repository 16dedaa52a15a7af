// What a lead waits for that its spans do not tell. While nobody in its process works, another
// thread may be what it waits for: one that sleeps, or waits for somebody itself, before it
// answers, notifies or ends. And native code that nothing wraps, as an event loop's or a remote
// call's, waits where spans say that Python runs: samples see it in a system call. docs/verdict.md
// has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/layer_set.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/host_causes.h"
#include "src/analyze/verdict/thread_lines.h"
#include "src/analyze/verdict/thread_samples.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

class IdleThreads {
 public:
  // `context` must outlive it.
  explicit IdleThreads(const Context& context) : context_(context) {}
  // A sample of a thread that is not the lead; it must outlive this.
  void Take(trace::TrackId track, const ThreadSample& sample);

  // A part of the lead's time: what it is spent on, and who is there.
  struct Part {
    trace::Interval time;
    Cause cause;
    LayerSet layers;
    Doing doing;
    int64_t end_ns;  // of the call, of which the time is a part
    Relatives relatives;
  };
  // In order of time, with what goes on meanwhile: other threads work, or nobody does.
  void AddWork(const Part& part, const LineStretch& lead, const LineStretch& other,
               const Blamed& blamed);
  void AddNobody(const Part& part, const LineStretch& lead, const Blamed& blamed);

  struct Moved {
    Cause from, to;  // kLock: what it is where no thread works for the lead
    Told lead;
    BlamedLines to_lines;
  };
  // What was no Python, whether nobody works then or others do; and for a child of which nothing
  // was recorded.
  std::vector<Moved> UntoldWaits() const;
  // What was at lines of threads that idle, where these are seen in a third of it. Holds once the
  // above are moved.
  std::vector<Moved> WaitsForThreads() const;

 private:
  // What a lead waits for: the end of a thread, something that one does, or anything.
  enum class Wait : uint8_t { kEnd, kThread, kAny };
  static constexpr size_t kWaits = 3;
  struct Candidate {
    const ThreadSample* sample;
    trace::TrackId track;
  };
  struct Idle {
    trace::Interval time;
    Wait wait;
    int64_t end_ns;
  };
  struct Seen {
    Told told;
    int64_t covered_ns = 0;  // of the lead's time
    int64_t process_ns = 0;  // of told: they wait for a process
    size_t idle = SIZE_MAX;  // the last, and how much of it is covered
    int64_t of_idle_ns = 0;
    void Add(const ThreadSample& sample, size_t at, const Idle& in);
  };
  void AddIdle(const Idle& idle, Cause cause, const Line& line, const Blamed& blamed);
  // Whether the thread is at work where the lead's waits end, more than in their middle.
  bool Wakes(trace::TrackId track) const;
  bool IsAwaited(const Candidate& candidate, const Idle& idle, std::vector<int8_t>* wakes) const;

  const Context& context_;
  std::vector<Candidate> candidates_;  // by thread, then time
  std::vector<Idle> idle_;
  std::array<std::array<Told, kCauses>, kWaits> leads_;
  std::array<int64_t, kWaits> idle_ns_ = {};
  Told for_child_;
  struct Untold {
    Told lead;
    BlamedLines to_lines;
  };
  int64_t counted_ns_ = INT64_MIN;  // up to where untold_ has the lead's samples
  // By what they are: waits that were Python by their spans, and a library's sleeps.
  std::array<std::array<Untold, kCauses>, 2> untold_;
};

}  // namespace crosscut::analyze
