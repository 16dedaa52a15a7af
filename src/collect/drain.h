// The thread that empties the ring into the log. It has a descriptor table of its own, all
// signals blocked, and records its own work as spans on its own track, and twice a second what the
// process takes of the machine.
//
// One object per process: Start and Quit by one caller at a time; the requests by anyone.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "src/collect/recorder.h"
#include "src/collect/usage.h"
#include "src/format/log_writer.h"

namespace crosscut::record {

struct DrainOptions {
  ChunkRing* ring = nullptr;
  format::LogIdentity identity;
  const char* ring_name = "";  // removed where the log has no name any more: its run is gone
  int mark = -1;               // marks the ring as in use while it is open; -1: nothing does
  const char* log_name = "";   // its path; outlives the drain
  bool flight_recorder = false;
  uint64_t keep_ticks = 0;  // how far back a snapshot reaches; 0: all that is kept
  // On the drain's thread: after every kStarted, and when the log can be written no more (`error`
  // words and number). May be null.
  void (*on_start)() = nullptr;
  // On it whenever it looks at the ring, but not in control steps, nor where the program would see
  // what it opens. May be null.
  void (*on_pass)() = nullptr;
  void (*on_failure)(const char* error, int number) = nullptr;
  // How many threads the library has beside the drain's: they do not keep a program that has ended.
  // May be null.
  int (*other_threads)() = nullptr;
};

class Drain {
 public:
  enum Request : uint32_t {
    kFlush = 1,  // all that is published goes to the log, of a flight recorder what is kept
    kQuit = 2,
    kLeave = 4,    // ends the thread at once; what is in the ring stays there
    kStarted = 8,  // a session has begun, or a source came that wants calibrating
    // The process ends. What the program's threads may be forbidden to do:
    kLook = 16,     // the ring goes if the log has gone with its run
    kDiscard = 32,  // log and ring go: nothing was recorded
  };

  // Starts the thread, which owns `log_fd` and the mark from then on (the caller's descriptors are
  // closed). Returns 0 or an errno; waits only until the thread has its own descriptors. Where it
  // cannot have them, the ring goes without its mark: the program may close all it finds.
  int Start(const DrainOptions& options, int log_fd);
  bool running() const { return running_.load(std::memory_order_acquire); }
  void Ask(uint32_t requests);
  // Waits until everything asked before is done; false after `ms`.
  bool Await(int ms);
  // Writes everything out, completes the log and ends the thread.
  void Quit();
  // Ends the thread and leaves the rest to whoever reads the run. `written_on`: the program's
  // threads go on recording, with no mark that tells so.
  void Leave(bool written_on);
  // In a forked child: the thread is not there.
  void AfterFork();

 private:
  static void* Main(void* self);
  void End(Request request);
  void Run();
  void OwnDescriptors();
  void Unmark();
  bool Sleep();  // false where the program has no thread any more
  bool ProgramEnded();
  int OtherThreads() const;
  void EndProgram();
  void Pass(uint32_t requests);
  void PrepareAhead();
  void Discard();
  bool RemovedWithItsLog();
  void WriteAnchors(bool always);
  void WriteUsage(bool last);
  void FlushSession(uint64_t* chunk);
  void WriteNames();
  bool WriteName(uint32_t id);
  void FlushFull(uint32_t count);
  void FlushOpen();
  void CollectOpen();
  void AppendRun(const uint32_t* indices, uint32_t count);
  void AppendPart(uint64_t* chunk, uint32_t from, uint32_t end);
  void KeepSpare();
  void Snapshot();
  void Check(const Status& status);
  void NameThread();

  DrainOptions options_;
  int log_fd_ = -1;
  pthread_t thread_ = {};
  std::atomic<bool> running_{false};  // Start(), End() -> who would ask or wait
  // OwnDescriptors() -> Start(), a futex: the thread has its table before Start() closes anything.
  std::atomic<uint32_t> ready_{0};
  std::atomic<uint32_t> wake_{0};  // futex: bumped by every Ask and by threads short of chunks
  uint32_t seen_ = 0;              // of it, when the last pass began
  // Ask() -> Run(), requests_ before asked_ and read after it: a pass that has seen a count has
  // what it counts. Run() -> Await(): answered_, a futex, with all that the pass did.
  std::atomic<uint32_t> requests_{0};
  std::atomic<uint32_t> asked_{0}, answered_{0};
  bool failed_ = false;
  bool idle_ = false;  // no session: sleeps until asked

  std::unique_ptr<format::LogWriter> log_;
  uint32_t* full_ = nullptr;  // room for every chunk
  uint32_t full_taken_ = 0;
  struct Open {
    uint64_t* chunk;
    uint64_t state;  // names the fill
    uint32_t end;
  };
  Open* open_ = nullptr;
  uint32_t open_count_ = 0;
  uint64_t claimed_before_ = 0;
  uint64_t busiest_ = 0;  // claims of a pass, of late
  int64_t next_anchor_ns_ = 0;
  int64_t next_usage_ns_ = 0;
  int64_t next_look_ns_ = 0;  // for the program's threads
  bool others_outlived_main_ = false;
  uint32_t sleep_us_ = 1000;
  uint32_t session_ = 0;
  uint32_t span_name_ = 0;
  UsageCounters usage_;
  bool own_descriptors_ = false;
};

}  // namespace crosscut::record
