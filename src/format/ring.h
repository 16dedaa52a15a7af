// The ring file: where the threads of one process publish their words. Its readers are the
// process's own drain, `crosscut start|stop|snapshot`, a reader of the run, and the reaper after
// the process's death. docs/format.md, "The ring file".
//
// Layout: RingHeader (page 0), RingDropSlot table (rest of the first kRingHeaderBytes), then
// chunk_count chunks of kRingChunkBytes. All numbers are little endian.
//
// Rules between the writer (src/collect) and all readers:
//  1. The file gets its name when its header is whole, so a process killed earlier leaves no file.
//     Where the file system cannot make files without a name, `magic` is written last.
//  2. A thread's event words are stored with release after their payload words. The first event
//     word that is 0 ends what is published. A clean chunk is all zero behind its header.
//  3. A claim stores kChunkBaseTick, kChunkTrack, kChunkDrained = 0 and last (release) kChunkState
//     = fill << 8 | kChunkActive, with fill taken from next_fill. Fills of one track rise in time.
//  4. Words are in the log before they leave the ring: a chunk's state becomes kChunkFree (release)
//     only after the log holds them, and its words are cleared only after that. The exception is a
//     flight recorder: any thread may free its oldest chunks unwritten, once the drop slots count
//     their events.
//  5. Names and other session words are published in a chunk of track 0 (or are in the log) before
//     any thread's word uses them.
// So a reader that first copies the ring and then reads the log misses nothing. Fill numbers and
// word ranges show it what it has twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/process.h"
#include "src/base/status.h"
#include "src/format/format.h"
#include "src/format/ring_words.h"

namespace crosscut::format {

enum RingState : uint32_t {
  kRingPreparing = 0,
  kRingDormant = 1,  // may be started by a request
  kRingRecording = 2,
  kRingPaused = 3,
  kRingStopped = 4,   // the session is over; the drain finishes the log
  kRingFinished = 5,  // the log is complete: nothing here is needed any more
};

enum RingRequest : uint32_t {
  kRequestNone = 0,
  kRequestStart = 1,
  kRequestStop = 2,
  kRequestSnapshot = 3,
};

// Part of `request` once the process has begun to carry it out: it can no longer be withdrawn.
inline constexpr uint32_t kRequestTaken = 0x80;
inline constexpr uint32_t RequestOf(uint32_t word) { return word & 0x7f; }

// Values of `answer`: 0, one of enum crosscut_error_code, or this one.
inline constexpr uint32_t kAnswerLate = 64;  // the step had begun already

inline constexpr size_t kRingPageBytes = 4096;
inline constexpr size_t kRingPluginBytes = 128;
inline constexpr size_t kRingLogNameBytes = 256;

// What `crosscut start|stop|snapshot` (the asker) and an armed process tell each other:
// docs/on-demand.md. All fields except the texts are atomic.
//
//   the asker                             the process
//   at_step, ... ; request = word         claims: request == word ? word | kRequestTaken
//                                         words, answer ; answered = word
//   answered == word ; answer, words
//
// By the compare-and-swap either one of several threads carries a request out, or the asker takes
// it back. `request` and `steps` are seq_cst on both sides: a step that missed its request has been
// counted when the asker looks (requests.h; src/collect/model_test.cc, Requests).
struct RingControl {
  // The asker writes these before `request`.
  uint64_t at_step;     // carried out before this step begins; kAtOnce: without waiting for a step
  uint64_t step_count;  // of a start: the window ends by itself after so many steps; 0: never
  uint64_t limit_ns;    // of a start: the window ends by itself after so long; 0: never
  uint64_t window;      // of a start: the window's number, from 1
  // The process writes these.
  uint32_t armed;         // 1: it takes requests
  uint32_t counts_steps;  // 1: it counts its steps while nothing records: numbers of the program
  uint64_t steps;         // steps begun since it was armed
  uint64_t window_begun;  // number of the last window that began; 0: none
  uint64_t window_ended;  // of the last one that ended
  uint64_t first_step;    // of the last window
  uint64_t end_step;      // the step before which it ended
  char words[160];        // of an answer other than 0; before `answered`
  char run_dir[1024];     // "" where it is longer
};
inline constexpr uint64_t kAtOnce = UINT64_MAX;

// Page 0. Fields marked (atomic) change while the session runs: use RingLoad and RingStore. Only
// the owning process writes, except for `request` and what belongs to it. Where no reader is named
// it is another process that copies the page (RingFile::ReadHeader) or maps it (`crosscut start`
// and its like). `state` is stored behind the ticks and the reason of a change: who loads it with
// acquire has them.
struct RingHeader {
  uint64_t magic;         // kRingMagic (atomic: stored last, before the file is mapped)
  uint32_t version;       // kFormatVersion
  uint32_t header_bytes;  // kRingHeaderBytes
  uint64_t chunk_count;
  uint64_t nonce;  // of this session: the same in the log's header, never 0
  // The owner: a base::ProcessIdentity.
  int64_t pid;
  uint64_t pid_start;
  uint64_t pid_namespace;
  uint64_t boot;
  // The run directory as fstat shows it, so that a ring is found before it has a log.
  uint64_t run_device;
  uint64_t run_inode;
  // Clock: ns of CLOCK_MONOTONIC = anchor_ns + (tick - anchor_tick) * ns_mult / 2^ns_shift.
  uint32_t tick_source;  // TickSource
  uint32_t ns_shift;
  uint64_t ns_mult;
  uint64_t anchor_tick;
  int64_t anchor_ns;
  int64_t anchor_realtime_ns;
  // The session.
  uint32_t state;        // RingState (atomic). ProcessState::Make(), Drain::Run() ->
  uint32_t stop_reason;  // StopReason, 0 while it records (atomic). ProcessLog::TellStop() ->
  uint64_t start_tick;   // (atomic). Session::StartLocked() ->
  uint64_t stop_tick;    // 0 while it records (atomic). As stop_reason
  uint64_t next_fill;    // the next claim's number, from 1 (atomic). ChunkRing::Begin() alone
  uint64_t first_fill;   // fills below it belong to an earlier session (atomic). Create() ->
  uint64_t drain_tick;   // when the drain last looked; 0: not yet (atomic). Drain::Pass() ->
  uint64_t log_bytes;    // the log's length after its last whole chunk (atomic). Drain::Pass() ->
  uint64_t failed_at_byte;  // where writing the log stopped for good; 0: it did not (atomic)
  uint32_t failed_errno;    // (atomic). Both: Drain::Check() -> ArmedProcess::failure()
  // Requests from outside: `request` = RingRequest | serial << 8, written by the asker, which holds
  // the lock (flock) of this file. The process adds kRequestTaken when it begins, and when it is
  // done it stores the word without kRequestTaken in `answered`. Both are shared futexes.
  uint32_t request;                    // (atomic)
  uint32_t answered;                   // (atomic)
  uint32_t answer;                     // 0 or an error number (atomic, before `answered`)
  char log_name[kRingLogNameBytes];    // file name of the log inside the run directory
  char last_plugin[kRingPluginBytes];  // "name:function" while a plugin is called, "" otherwise
  // 1: the owner keeps this file marked (base::MarkInUse) while it may write (atomic).
  // Drain::Unmark() -> RingFile::Owner()
  uint64_t marks_use;
  uint64_t run_made_ns;   // base::MadeNs() of the run directory
  uint64_t reserved[30];  // 0
  RingControl control;
};
static_assert(sizeof(RingHeader) <= kRingPageBytes);
static_assert(std::is_trivially_copyable_v<RingHeader>);

// Events that a track could not store, counted where a kill cannot lose the count. `count` is the
// total since the slot was taken. kDrop words in the track's stream report a part of it; unreported
// = count - sum of the kDrop words of that track and reason, never below 0. A slot is freed by
// count = 0, then track = 0.
//
//            DropSlotFor()                  a loss
//   free ------------------------> taken -----------------------> counted
//    ^     track: 0 -> key, by       count is 0   last_tick, then     |  and again
//    |     compare-and-swap; then                 count               |
//    |     reason, first_tick                                         |
//    +---------- Recorder::Detach(): count = 0, then track = 0 -------+
//
// What holds:
// - A free slot's count is 0, and who takes the slot begins there: its compare-and-swap reads the
//   track = 0 that was stored with release behind count = 0.
// - Readers pass over a slot whose count is 0, and add up several of one track and reason.
// - kDropFull of a thread's own track is counted by that thread alone, by load and store, and the
//   slot is freed by it as it ends, if its stream has told everything. All other slots are counted
//   by any thread, by fetch_add, and are never freed.
// - Between the compare-and-swap and the store of `reason` a slot shows the reason of whoever had
//   it before, or 0, and who looks for a slot of the same track goes by that.
struct RingDropSlot {
  uint64_t track;       // track id + 1; 0 = free (atomic: taken by compare-and-swap)
  uint64_t reason;      // DropReason (atomic). DropSlotFor() -> DropSlotFor(), readers
  uint64_t count;       // (atomic). CountDrop(), CountShared(), CountOverwritten() -> readers
  uint64_t first_tick;  // full ticks (atomic). DropSlotFor() -> readers
  uint64_t last_tick;   // (atomic) as count, before it
  uint64_t reserved[3];
};
static_assert(sizeof(RingDropSlot) == 64);
inline constexpr size_t kRingDropSlots =
    (kRingHeaderBytes - kRingPageBytes) / sizeof(RingDropSlot);  // 960
// Losses of threads that found no slot are counted in the last slot, whose track is this + 1. Those
// that no thread's stream can tell (CountShared) have slots of this track, too, by reason.
inline constexpr uint64_t kRingSharedDropTrack = UINT32_MAX;

// Restores full ticks from event words in stream order. A step back of up to 2^44 ticks (two hours)
// is taken as one; any other difference is time going on, so a stream may be silent for a day.
class TickReader {
 public:
  explicit TickReader(uint64_t base_tick) : tick_(base_tick) {}
  uint64_t Next(uint64_t word) {
    const uint64_t ahead = ((word >> kCodeBits) - tick_) & kTickMask;
    const uint64_t back = (kTickMask + 1) - ahead;
    tick_ = back <= uint64_t{1} << 44 && back <= tick_ ? tick_ - back : tick_ + ahead;
    return tick_;
  }
  uint64_t tick() const { return tick_; }

 private:
  uint64_t tick_;
};

// Whose rings are accepted. /dev/shm is open to everybody: a file there under a ring's name may be
// anyone's.
struct RingTrust {
  int64_t owner = -1;   // uid of the run directory; -1: only the reader's own rings
  bool in_run = false;  // the ring lies in its run directory, whose mode keeps others out
};

// A ring file, opened and found to belong to the reader or to `trust.owner`, and to be writable by
// nobody else. It is read with pread and not mapped, so that truncating it causes no SIGBUS.
// Move-only.
class RingFile {
 public:
  // Opens with O_NOFOLLOW and checks the opened file. kNotFound, kIo; kInvalid where it belongs to
  // others or they may write it, kCorrupt where it is no regular file.
  static Result<RingFile> Open(const std::string& path, const RingTrust& trust, bool writable);
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&&) = delete;
  ~RingFile();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }
  uint64_t disk_bytes() const { return disk_bytes_; }  // as it was opened
  int64_t written_s() const { return written_s_; }     // time(2) when it was last written as a file
  bool Read(uint64_t offset, void* out, size_t bytes) const;
  // Reads the header, with its texts NUL-terminated, and how many of its chunks the file has room
  // for. kCorrupt names what is wrong with the header.
  Status ReadHeader(RingHeader* header, uint64_t* chunks) const;
  // Whether the process of this header may still write here.
  base::Liveness Owner(const RingHeader& header) const;

 private:
  RingFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
  uint64_t device_ = 0, inode_ = 0, bytes_ = 0, disk_bytes_ = 0;
  int64_t written_s_ = 0;
};

// What one chunk held when it was copied.
struct RingChunkCopy {
  uint64_t index = 0;  // of the chunk in the ring
  uint64_t fill = 0;
  uint64_t base_tick = 0;
  uint32_t track = 0;
  bool damaged = false;         // words behind `words` were not 0 and not readable
  std::vector<uint64_t> words;  // whole events, from index kRingChunkHeaderWords on
};

// A consistent copy of a ring that may be in use or hostile. The file's true size bounds the
// memory.
struct RingSnapshot {
  // As RingFile::Open and ReadHeader; kLimit where new sessions kept beginning meanwhile.
  static Result<RingSnapshot> Read(const std::string& path, const RingTrust& trust = {});

  std::string path;
  uint64_t device = 0, inode = 0;
  RingHeader header;                                // log_name and last_plugin are NUL-terminated
  base::Liveness owner = base::Liveness::kUnknown;  // kDead also after an exec
  std::vector<RingDropSlot> drops;                  // the slots in use
  std::vector<RingChunkCopy> chunks;  // of this session, ordered by fill; empty ones left out
  uint64_t changed = 0;               // chunks that were recycled while they were copied
  uint64_t missing_chunks = 0;        // those of chunk_count behind the file's end: truncated
};

// Regular files in `dir` that are named like rings and belong to this user or to `owner`, as full
// paths in order. Others' files are not even opened.
std::vector<std::string> ListRings(const std::string& dir, int64_t owner = -1);

// "<dir>/crosscut-<uid>-<pid>-<nonce in hex>.ring"
std::string RingPath(const std::string& dir, int64_t pid, uint64_t nonce);

}  // namespace crosscut::format
