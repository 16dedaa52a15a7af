// Who works in a process from moment to moment, and at which line.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/layer_set.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/thread_lines.h"
#include "src/analyze/verdict/thread_samples.h"

namespace crosscut::analyze {

// What the walks of all threads share, made once.
struct ThreadFacts {
  explicit ThreadFacts(const Context& context);
  std::vector<Doing> doing;                           // by NameId
  std::vector<std::vector<ThreadSample>> samples;     // by track; those of host threads
  std::vector<std::vector<trace::Interval>> unknown;  // by process: pauses, and no probes
};

// The part of a thread's life in its process's window.
trace::Interval LifeOf(const trace::Trace& trace, trace::TrackId track);

// The lines of one thread through its life.
std::unique_ptr<LineCursor> LinesOfThread(const Context& context, trace::TrackId track);

// Whether a thread that its spans say works was seen waiting in a system call: who writes to a pipe
// that is full waits for its reader, and Python code does for what no span tells, as a semaphore.
inline bool WasSeenWaiting(const LineStretch& stretch) {
  const bool may = stretch.state.doing == Doing::kWritingPipe ||
                   (stretch.state.layer == trace::Layer::kPython && !stretch.state.name.valid());
  return may && stretch.sample != nullptr && !stretch.sample->runs;
}

class ProcessLines {
 public:
  // `context` must outlive it.
  ProcessLines(const Context& context, trace::ProcessId process);

  // Whether a thread of the process has samples: else no line is known at any time.
  bool knows_any() const { return knows_any_; }

  enum class Who : uint8_t { kLead, kOther, kNobody };
  // Calls visit(stretch, blamed, who) for each part of [begin, end) in order of time, where the
  // process works in `layers`: with the lead's stretch where the lead does, or sleeps, which is
  // nobody's work; else with those of the other threads that do at lines of the program, each with
  // an equal part of the time; with the lead's and kNobody where none does. Calls
  // visit_lead(stretch, time) likewise, whatever it does. What is blamed adds up to end - begin.
  // Requires: the process's window holds [begin, end), and `begin` is not smaller than `end` in the
  // call before.
  template <class Visit, class VisitLead>
  void ForEach(const trace::Interval& time, LayerSet layers, Visit visit, VisitLead visit_lead);

 private:
  struct Thread {
    trace::TrackId track;
    trace::Interval life;
    std::unique_ptr<LineCursor> lines;
  };
  static bool Works(const LineStretch& stretch, LayerSet layers) {
    return stretch.state.layer != trace::Layer::kNone &&
           (layers & kHostBits & Bit(stretch.state.layer)) != 0;
  }
  // The stretch of a thread at that time; null outside of its life. Shortens `*until_ns` to its
  // end.
  static const LineStretch* At(Thread* thread, int64_t at_ns, int64_t* until_ns);
  // Fills working_ with the stretches of the other threads that work then.
  void FindOthers(int64_t at_ns, LayerSet layers, int64_t* until_ns);

  const Context& context_;
  bool knows_any_ = false;
  Thread lead_;
  // That have samples, by begin. Only of those that live there are lines: a server may have had a
  // thread for each of a hundred thousand requests.
  std::vector<Thread> others_;
  size_t next_other_ = 0;
  std::vector<Thread*> living_;  // of others_, by track
  std::vector<const LineStretch*> working_;
  LineStretch nothing_;
};

template <class Visit, class VisitLead>
void ProcessLines::ForEach(const trace::Interval& time, LayerSet layers, Visit visit,
                           VisitLead visit_lead) {
  for (int64_t at = time.begin_ns, until; at < time.end_ns; at = until) {
    until = time.end_ns;
    const LineStretch* lead = At(&lead_, at, &until);
    if (lead == nullptr) lead = &nothing_;
    const bool works = Works(*lead, layers);
    working_.clear();
    const bool awaits = !works && lead->state.doing != Doing::kSleeping;
    if (awaits && (layers & kHostBits) != 0) FindOthers(at, layers, &until);
    visit_lead(*lead, trace::Interval{at, until});
    if (working_.empty()) {
      visit(*lead, lead->BlamedFor(at, until), works ? Who::kLead : Who::kNobody);
      continue;
    }
    const auto n = static_cast<int64_t>(working_.size());
    int64_t left = until - at;
    for (int64_t i = 0; i < n; ++i) {
      const LineStretch& stretch = *working_[static_cast<size_t>(i)];
      Blamed blamed = stretch.BlamedFor(at, until);
      blamed.ns = left / (n - i);
      blamed.variance /= static_cast<double>(n * n);
      left -= blamed.ns;
      visit(stretch, blamed, Who::kOther);
    }
  }
}

}  // namespace crosscut::analyze
