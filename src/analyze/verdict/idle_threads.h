// What a lead waits for that its spans do not tell. While nobody in its process works, another
// thread may be what it waits for: one that sleeps, or waits for somebody itself, before it
// answers, notifies or ends. Who works at a line while the lead waits at a socket, and hardly
// otherwise, works for it. And native code that nothing wraps, as an event loop's or a remote
// call's, waits where spans say that Python runs: samples see it in a system call. docs/verdict.md
// has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/layer_set.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/host_causes.h"
#include "src/analyze/verdict/lead_time.h"
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

  // Whether a thread of the process may be at the other end of the socket or pipe that the lead
  // waits at with that cause.
  static bool MayBeAnswered(Cause cause, Doing doing, bool has_child) {
    return cause == Cause::kOtherProcess && doing == Doing::kAwaitingProcess && !has_child;
  }
  // In the part that is told: a time in which MayBeAnswered has that value, and a sample there of a
  // thread that is not the lead. Neither is added where the lead sends or waits for the GIL: who
  // answers may be at work by then.
  void AddTime(bool answered, int64_t ns) { (answered ? answered_ns_ : otherwise_ns_) += ns; }
  void AddOther(bool answered, const ThreadSample& other);
  // A part of the lead's time: what it is spent on, and who is there.
  struct Part {
    LeadPiece piece;
    Cause cause;
    LayerSet layers;
    Doing doing;
    int64_t end_ns;  // of the call, of which the time is a part
    Relatives relatives;
  };
  // In order of time, with what goes on meanwhile: other threads work, or nobody does. Of those at
  // no line of the program one stands for all: it is the lead's line then.
  void AddWork(const Part& part, const LineStretch& lead, const LineStretch& other,
               const Blamed& blamed);
  void AddNobody(const Part& part, const LineStretch& lead);

  struct Moved {
    Cause from, to;  // kLock: what it is where no thread works for the lead
    LeadTime lead;
    BlamedLines to_lines;
  };
  // What was no Python, whether nobody works then or others do; for a child of which nothing was
  // recorded; and for who answers.
  std::vector<Moved> UntoldWaits() const;
  // What was at lines of threads that idle, where these are seen in a third of it; of a wait for
  // anything the rest is at the lead's. Holds once the above are moved.
  std::vector<Moved> WaitsForThreads() const;

 private:
  // What a lead waits for: the end of a thread, something that one does, or anything.
  enum class Wait : uint8_t { kEnd, kThread, kAny };
  static constexpr size_t kWaits = 3;
  struct Candidate {
    const ThreadSample* sample;
    trace::TrackId track;
    bool last = false;  // of the thread
  };
  struct Idle {
    trace::Interval time;
    Wait wait;
    int64_t end_ns;
  };
  struct Seen {
    Told told;
    int64_t covered_ns = 0;  // by one of them at least
    int64_t process_ns = 0;  // of told: they wait for a process
    int64_t until_ns = INT64_MIN;
    // In order of time. It covers what follows until `end_ns`, if that is later.
    void Add(const ThreadSample& sample, int64_t end_ns);
  };
  void AddIdle(const Part& part, Wait wait, Cause cause, const LineStretch& lead);
  // Of a thread, in the lead's waits that lie in its life: how long before their ends, and before
  // their middles, it was at work last.
  struct AtWork {
    int64_t waits = 0, before_ends_ns = 0, before_middles_ns = 0;
  };
  AtWork AtWorkOf(trace::TrackId track) const;
  // Whether the threads that are seen at a line are at work where the lead's waits end, more than
  // in their middle: all of them, as one may live for a single wait.
  class Waking {
   public:
    explicit Waking(const IdleThreads* idle) : idle_(idle) {
      for (const Candidate& seen : idle->candidates_) {
        std::vector<uint32_t>& threads = threads_[seen.sample->line];
        if (threads.empty() || threads.back() != seen.track.value) {
          threads.push_back(seen.track.value);
        }
      }
    }
    bool Wakes(const Line& line);

   private:
    const IdleThreads* const idle_;
    std::map<Line, std::vector<uint32_t>> threads_;
    std::map<uint32_t, AtWork> of_;
    std::map<Line, bool> known_;
  };
  bool IsAwaited(const Candidate& candidate, const Idle& idle, Waking* waking) const;

  const Context& context_;
  std::vector<Candidate> candidates_;  // by thread, then time
  std::vector<Idle> idle_;
  std::array<std::array<LeadTime, kCauses>, kWaits> leads_;
  std::array<int64_t, kWaits> seen_ns_ = {};  // for which the samples there of the lead stand
  LeadTime for_child_;
  struct Untold {
    LeadTime lead;
    BlamedLines to_lines;
    int64_t in_native = 0, in_interpreter = 0;  // of the samples of others
  };
  using UntoldOf = std::array<Untold, kCauses>;  // by what they are
  static void Append(Cause from, const UntoldOf& untold, std::vector<Moved>* out);
  bool Answers(const Line& line) const;
  int64_t counted_ns_ = INT64_MIN;  // up to where untold_ has the lead's samples
  UntoldOf in_python_, polls_;      // waits that were Python by their spans, and a library's sleeps
  // By line of who works while the lead may be answered: how many of its samples lie there, and
  // elsewhere.
  struct Answering {
    int64_t there = 0, elsewhere = 0;  // samples
    UntoldOf waits;
  };
  std::map<Line, Answering> answering_;
  int64_t answered_ns_ = 0, otherwise_ns_ = 0;
};

}  // namespace crosscut::analyze
