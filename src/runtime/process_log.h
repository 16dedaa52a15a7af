// What this process writes its recording to: log, ring and drain in a run directory, one set after
// the other. It knows nothing of when recording is on.
//
// Threads: Open, Close and AfterFork by one caller at a time, the session's transition; the rest by
// any thread while it is open. Memory of a ring that was closed stays until the next but one opens:
// a thread may still be in the middle of marking.
#pragma once

#include <stdint.h>

#include <atomic>

#include "src/base/process.h"
#include "src/collect/chunk_ring.h"
#include "src/collect/drain.h"
#include "src/format/format.h"
#include "src/format/log_identity.h"
#include "src/runtime/settings.h"

namespace crosscut::record {

class ProcessLog {
 public:
  // Of the drain; see DrainOptions.
  struct Calls {
    void (*on_start)();
    void (*on_pass)();
    void (*on_failure)(const char* error, int number);
    int (*other_threads)();
  };

  // Makes log and ring, writes the facts of the process, starts the drain. `settings` stay those of
  // the log. Returns CROSSCUT_OK or what Fail() said; nothing is left behind then.
  int Open(const Settings& settings, const Calls& calls);
  // Everything goes to the log, as far as it can be written; a run that was removed gets nothing.
  void Close();
  bool open() const { return open_; }
  // Whether a session with these settings goes on in it.
  bool Fits(const Settings& settings) const;
  bool Removed() const;  // with its run

  // No further session in this run directory: the log failed. Whether it was broken before.
  bool Break() { return broken_.exchange(true); }
  bool broken() const { return broken_.load(); }

  const Settings& settings() const { return settings_; }
  void set_settings(const Settings& settings) { settings_ = settings; }
  ChunkRing* ring() { return &rings_[ring_index_]; }
  format::RingHeader* header() { return ring()->header(); }
  Drain& drain() { return drain_; }
  // "p4711-1f3a..."; "" before the first log.
  const char* key() const { return key_; }
  int owner() const { return owner_; }  // the process whose it is

  // When and why the session ends: in the ring's header, before its state says so; then in the log.
  // Where the process ends the header alone may tell: another session must not begin without the
  // word of this one's end. `waits`: for room in the ring.
  void TellStop(uint64_t tick, format::StopReason reason);
  void WriteStop(uint64_t tick, format::StopReason reason, bool waits);
  // Of the facts and of every later log.
  void NameProcess(const char* name);
  // At the process's end: the ring goes if the log was removed, not if it was only moved; where
  // nothing was recorded both go. This thread makes no system call but to wait.
  void LeaveFiles(bool recorded);

  // In a forked child: what is open is the parent's. `parent`: the child's log names it.
  void AfterFork(bool parent);

 private:
  int OpenLog(uint64_t start_tick);
  int OpenRing(const format::RingHeader& header);
  int TryRing(const char* dir, int folder, uint64_t wanted_chunks,
              const format::RingHeader& header);
  int StartDrain(const format::LogIdentity& identity, const base::ProcessIdentity& self,
                 const Calls& calls);
  void FillHeader(const format::LogIdentity& log, const base::ProcessIdentity& self,
                  format::RingHeader* header);
  void WriteFacts(const base::ProcessIdentity& self);
  void WriteHost(const base::ProcessIdentity& self);
  void WriteOrigin(const base::ProcessIdentity& self);
  void WriteSettings();

  Settings settings_ = {};
  ChunkRing rings_[2];
  int ring_index_ = 0;
  bool open_ = false;
  int owner_ = 0;
  std::atomic<bool> broken_{false};  // Break(), by the drain as a rule -> Session
  Drain drain_;
  char key_[64] = {};
  char parent_key_[64] = {};
  char log_path_[kPathBytes] = {};
  char ring_path_[kPathBytes] = {};
  char ring_note_[256] = {};
  char process_name_[256] = {};
  const char* start_method_ = nullptr;
  // Until the drain has them; a forked child closes its copies: the mark says that a process lives.
  std::atomic<int> log_fd_{-1}, mark_{-1};
};

}  // namespace crosscut::record
