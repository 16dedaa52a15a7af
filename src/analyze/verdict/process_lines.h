// Who works in a process from moment to moment, and at which line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/context.h"
#include "src/analyze/layer_set.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/thread_lines.h"
#include "src/analyze/verdict/thread_samples.h"

namespace crosscut::analyze {

// What the walks of all threads share, made once.
struct ThreadFacts {
  explicit ThreadFacts(const Context& context);
  std::vector<Doing> doing;                        // by NameId
  std::vector<std::vector<ThreadSample>> samples;  // by track; those of host threads
  // By process, in order: pauses and no probes; no probes but marks.
  std::vector<std::vector<trace::Interval>> off, marks;
};

// The part of a thread's life in its process's window.
trace::Interval LifeOf(const trace::Trace& trace, trace::TrackId track);

// The part of a process's window that an instant lies in.
WindowPart PartAt(const Context& context, trace::ProcessId process, int64_t at_ns);

// The lines of one thread through its life.
std::unique_ptr<LineCursor> LinesOfThread(const Context& context, trace::TrackId track);

// Whether a thread that its spans say works was seen waiting in a system call: who writes to a pipe
// or a socket that is full waits for its reader, and Python code does for what no span tells, as a
// semaphore.
inline bool WasSeenWaiting(const LineStretch& stretch) {
  const bool may = stretch.state.doing == Doing::kSending ||
                   (stretch.state.layer == trace::Layer::kPython && !stretch.state.name.valid());
  return may && stretch.sample != nullptr && !stretch.sample->runs;
}

// Whether it was so in a call that waits for neither a lock nor a file: native code that nothing
// wraps waits there.
inline bool WaitsInNative(const LineStretch& stretch) {
  return stretch.state.layer == trace::Layer::kPython && !stretch.state.name.valid() &&
         stretch.sample != nullptr && stretch.sample->waits;
}

// Whether a library sleeps, which looks in between whether something is there. Who sleeps in a line
// of the program's own means to.
inline bool Polls(const LineStretch& stretch) {
  return stretch.state.doing == Doing::kSleeping && stretch.sample != nullptr &&
         stretch.sample->in_library;
}

// Whether a thread neither works then, in one of these layers, nor sleeps because it means to: who
// works meanwhile does so for it.
inline bool WaitsForOthers(const LineStretch& stretch, LayerSet layers = kHostBits) {
  const trace::Layer layer = stretch.state.layer;
  const bool works = layer != trace::Layer::kNone && (layers & kHostBits & Bit(layer)) != 0;
  if (works) return WaitsInNative(stretch);
  return stretch.state.doing != Doing::kSleeping || Polls(stretch);
}

// Calls visit(stretch, part, i) for each part of times[i] in which a process's lead is at one
// place, in order of time. `times` are disjoint and in order.
template <class Visit>
void ForEachOfLead(const Context& context, trace::ProcessId process,
                   const std::vector<trace::Interval>& times, Visit visit) {
  const trace::TrackId lead = context.trace().processes[process.value].lead;
  if (lead.value >= context.trace().tracks.size()) return;
  const trace::Interval life = LifeOf(context.trace(), lead);
  const std::unique_ptr<LineCursor> lines = LinesOfThread(context, lead);
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t end = std::min(times[i].end_ns, life.end_ns);
    for (int64_t at = std::max(times[i].begin_ns, life.begin_ns), until; at < end; at = until) {
      const LineStretch& stretch = lines->At(at);
      until = std::min(end, stretch.end_ns);
      visit(stretch, trace::Interval{at, until}, i);
    }
  }
}

class ProcessLines {
 public:
  // `context` must outlive it.
  ProcessLines(const Context& context, trace::ProcessId process);

  // Whether a thread of the process has samples: else no line is known at any time.
  bool knows_any() const { return knows_any_; }

  // `layers`, which are active in the process; while the lead idles without Python, where all other
  // threads that are in it by their spans were seen waiting (of a thread without samples none was):
  // in a call that began while calls were not recorded, as in a control step, or in one that
  // nothing wraps. Shortens `*until_ns` to when that may change. Requires: `at_ns` is not smaller
  // than in the calls before, of ForEach() too.
  LayerSet LayersBehind(const LeadStretch& lead, LayerSet layers, int64_t at_ns, int64_t* until_ns);

  enum class Who : uint8_t { kLead, kOther, kUnlined, kNobody };
  // Calls visit(stretch, blamed, who) for each part of [begin, end) in order of time, where the
  // process works in `layers`: with the lead's stretch where the lead does, or sleeps, which is
  // nobody's work; else with those of the other threads that do at lines of the program, each with
  // an equal part of the time; with the lead's and kUnlined where only such do that are at none, of
  // which unlined() is one; with the lead's and kNobody where none does. Calls
  // visit_lead(stretch, time) likewise, whatever it does. What is blamed adds up to end - begin.
  // Requires: the process's window holds [begin, end), and `begin` is not smaller than `end` in the
  // call before.
  template <class Visit, class VisitLead>
  void ForEach(const trace::Interval& time, LayerSet layers, Visit visit, VisitLead visit_lead);

  const LineStretch* unlined() const { return unlined_; }

 private:
  struct Thread {
    trace::TrackId track;
    trace::Interval life;
    std::unique_ptr<LineCursor> lines;
    const LineStretch* now = nullptr;  // of another thread than the lead: where it may work
    bool in_python = false, waits_there = false;  // likewise, as LayersBehind() has it
  };
  struct Change {
    int64_t at_ns;
    Thread* thread;
    bool operator>(const Change& other) const { return at_ns > other.at_ns; }
  };
  static bool Works(const LineStretch& stretch, LayerSet layers) {
    return stretch.state.layer != trace::Layer::kNone &&
           (layers & kHostBits & Bit(stretch.state.layer)) != 0;
  }
  // The stretch of a thread at that time; null outside of its life. Shortens `*until_ns` to its
  // end.
  static const LineStretch* At(Thread* thread, int64_t at_ns, int64_t* until_ns);
  // Takes the changes of the other threads up to that time.
  void MoveTo(int64_t at_ns, int64_t* until_ns);
  // Fills working_ with the stretches of the other threads that work then, and unlined_.
  void FindOthers(int64_t at_ns, LayerSet layers, int64_t* until_ns);
  void TakeChange(Thread* thread, int64_t at_ns);
  // Whether a thread without samples is in Python by its spans. As LayersBehind().
  bool UnseenInPython(int64_t at_ns, int64_t* until_ns);

  const Context& context_;
  bool knows_any_ = false;
  Thread lead_;
  // That have samples, by begin. Only of those that live there are lines: a server may have had a
  // thread for each of a hundred thousand requests.
  std::vector<Thread> others_;
  size_t next_other_ = 0;
  // When the stretches of those that live end: most go on for long, so each is asked only then.
  std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;
  std::vector<Thread*> may_work_;  // of others_, by track
  std::vector<const LineStretch*> working_;
  const LineStretch* unlined_ = nullptr;
  int64_t in_python_ = 0, waiting_in_python_ = 0;  // of the others
  // That have none, likewise; those that lived when they were last asked, with their ends: most
  // come and go in between.
  std::vector<Thread> unseen_;
  size_t next_unseen_ = 0;
  std::vector<std::pair<int64_t, std::unique_ptr<LeadCursor>>> unseen_alive_;
  LineStretch nothing_;
};

template <class Visit, class VisitLead>
void ProcessLines::ForEach(const trace::Interval& time, LayerSet layers, Visit visit,
                           VisitLead visit_lead) {
  for (int64_t at = time.begin_ns, until; at < time.end_ns; at = until) {
    until = time.end_ns;
    const LineStretch* lead = At(&lead_, at, &until);
    if (lead == nullptr) lead = &nothing_;
    const bool works = Works(*lead, layers) && !WaitsInNative(*lead);
    working_.clear();
    unlined_ = nullptr;
    if (WaitsForOthers(*lead, layers) && (layers & kHostBits) != 0) {
      FindOthers(at, layers, &until);
    }
    visit_lead(*lead, trace::Interval{at, until});
    if (working_.empty()) {
      const Who other = unlined_ != nullptr ? Who::kUnlined : Who::kNobody;
      visit(*lead, lead->BlamedFor(at, until), works ? Who::kLead : other);
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
