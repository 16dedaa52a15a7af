#include "src/collect/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/descriptors.h"
#include "src/base/fault_point.h"
#include "src/base/file.h"
#include "src/base/thread.h"
#include "src/base/time.h"
#include "src/collect/clock.h"
#include "src/collect/memory.h"

namespace crosscut::record {
namespace {

constexpr rlim_t kHighDescriptor = 4096;
constexpr size_t kStackBytes = 512 << 10;
constexpr uint32_t kShortSleepUs = 1000;
constexpr uint32_t kLongSleepUs = 20'000;
constexpr uint32_t kQuietSleepUs = 50'000;  // no chunk was claimed: a turn costs more than its work
constexpr uint32_t kIdleSleepUs = 1'000'000;
constexpr int64_t kLookForThreadsEveryNs = 10'000'000;
constexpr uint32_t kFewestClean = 16;
constexpr uint32_t kPassesAhead = 8;  // clean chunks for so many passes like the busiest of late
constexpr uint32_t kPrepareAtOnce = 64;
constexpr uint32_t kSpareWhenKeeping = 256;
constexpr int64_t kAnchorEveryNs = 1'000'000'000;
constexpr int64_t kUsageEveryNs = 500'000'000;
constexpr uint32_t kBatchChunks = format::kLogBatchWords / format::kRingChunkWords;

void FutexWait(std::atomic<uint32_t>* word, uint32_t value, int64_t us) {
  const timespec timeout = {us / 1'000'000, us % 1'000'000 * 1000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, us < 0 ? nullptr : &timeout, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

uint32_t DrainedTo(const uint64_t* chunk) {
  const uint64_t drained = chunk[format::kChunkDrained];
  constexpr uint32_t kFirst = format::kRingChunkHeaderWords;
  return drained == 0 ? kFirst : static_cast<uint32_t>(drained);
}

// The words of a chunk from index `from` on, and whose track they are.
struct Part {
  uint32_t track;
  format::Piece piece;
};

// A thread may have made it full and be about to push it.
bool IsWritten(uint64_t state) {
  const format::RingChunkState is = format::ChunkState(state);
  return is == format::kChunkActive || is == format::kChunkFull;
}

// A word has 48 bits of its tick: what stands before the part tells the rest, and the track.
Part PartOf(const uint64_t* chunk, uint32_t from, uint32_t end) {
  Part part;
  part.track = static_cast<uint32_t>(chunk[format::kChunkTrack]);
  format::TickReader clock(chunk[format::kChunkBaseTick]);
  constexpr size_t kBegin = format::kRingChunkHeaderWords;
  for (const auto event : format::EventsOf({chunk + kBegin, from - kBegin})) {
    clock.Next(event[0]);
    if ((event[0] & format::kCodeMask) == format::kThread) part.track = event[1];
  }
  // Of ChunkRing::Begin(), and the chunk is not recycled meanwhile: its fill stays.
  part.piece.fill = format::ChunkFill(format::RingLoad(chunk[format::kChunkState]));
  part.piece.first_word = from;
  part.piece.base_tick = clock.tick();
  part.piece.words = {chunk + from, end - from};
  return part;
}

// The same file under a number that is `least` or more; `fd` where there is none. -1 stays.
int Raised(int fd, int least) {
  const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, least);
  return high >= 0 ? high : fd;
}

}  // namespace

int Drain::Start(const DrainOptions& options, int log_fd) {
  options_ = options;
  log_fd_ = log_fd;
  const size_t chunks = options.ring->chunk_count();
  const size_t bytes = chunks * (sizeof(uint32_t) + sizeof(Open));
  char* tables = static_cast<char*>(MapPages(bytes));
  if (tables == nullptr) return ENOMEM;
  open_ = reinterpret_cast<Open*>(tables);
  full_ = reinterpret_cast<uint32_t*>(tables + chunks * sizeof(Open));
  failed_ = false;
  idle_ = false;
  claimed_before_ = 0;
  busiest_ = 0;
  next_anchor_ns_ = 0;
  next_look_ns_ = 0;
  others_outlived_main_ = false;
  sleep_us_ = kShortSleepUs;
  ready_.store(0);
  options.ring->SetDrain(&wake_);

  const int error = CROSSCUT_FAULT("drain.thread")
                        ? int{EAGAIN}
                        : base::StartThread(&Drain::Main, this, kStackBytes, &thread_);
  if (error != 0) {
    UnmapPages(tables, bytes);
    return error;
  }
  running_.store(true, std::memory_order_release);
  Recorder::Get().stream().SetDrainRuns(true);
  while (ready_.load(std::memory_order_acquire) == 0) FutexWait(&ready_, 0, -1);
  if (ready_.load() == 1) close(log_fd);  // 2: the table is shared, the drain uses this one
  if (options.mark >= 0) close(options.mark);
  return 0;
}

void* Drain::Main(void* self) {
  auto* drain = static_cast<Drain*>(self);
  drain->OwnDescriptors();
  drain->Run();
  return nullptr;
}

// A table of our own with nothing in it but the log and the ring's mark: whatever the program
// closes and opens is not ours. They stand high in it, because race detectors know one table per
// process and would take their numbers for the program's. Nor does standard error stay: who reads
// it waits until all have closed it.
void Drain::OwnDescriptors() {
  prctl(PR_SET_NAME, "crosscut-drain");
  const auto above = static_cast<unsigned>(std::max(log_fd_, options_.mark)) + 1;
  const bool own = syscall(SYS_close_range, above, ~0U, CLOSE_RANGE_UNSHARE) == 0;
  if (own) {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    const auto half = limit.rlim_cur / 2 < kHighDescriptor ? limit.rlim_cur / 2 : kHighDescriptor;
    log_fd_ = Raised(log_fd_, static_cast<int>(half));
    options_.mark = Raised(options_.mark, static_cast<int>(half));
    base::CloseAllBut(log_fd_, options_.mark);
    base::DescriptorsAreOurs();
  } else {
    Unmark();
  }
  own_descriptors_ = own;
  ready_.store(own ? 1 : 2, std::memory_order_release);
  FutexWake(&ready_);
}

// Before the mark goes while the ring is still written. -> format::RingFile::Owner().
void Drain::Unmark() { format::RingStore(options_.ring->header()->marks_use, uint64_t{0}); }

void Drain::Ask(uint32_t requests) {
  if (!running()) return;
  requests_.fetch_or(requests);  // first: whoever sees the count takes what it counts
  asked_.fetch_add(1);
  wake_.fetch_add(1);
  FutexWake(&wake_);
}

bool Drain::Await(int ms) {
  const uint32_t target = asked_.load();
  const int64_t end = base::MonotonicNs() + int64_t{ms} * 1'000'000;
  for (;;) {
    const uint32_t seen = answered_.load();
    if (static_cast<int32_t>(seen - target) >= 0) return true;
    const int64_t left = end - base::MonotonicNs();
    if (left <= 0 || !running()) return false;
    FutexWait(&answered_, seen, left / 1000 + 1);
  }
}

void Drain::Quit() { End(kQuit); }

void Drain::Leave(bool written_on) {
  if (!running()) return;
  if (written_on) Unmark();
  End(kLeave);
}

void Drain::End(Request request) {
  if (!running()) return;
  Ask(request);
  pthread_join(thread_, nullptr);
  running_.store(false);
  Recorder::Get().stream().SetDrainRuns(false);
  const size_t chunks = options_.ring->chunk_count();
  UnmapPages(open_, chunks * (sizeof(uint32_t) + sizeof(Open)));
}

void Drain::AfterFork() {
  running_.store(false);
  (void)log_.release();  // its state may be half changed; its memory is the parent's copy
  requests_.store(0);
  answered_.store(asked_.load());
}

// Not where something happened since the last pass began.
bool Drain::Sleep() {
  do {
    if (requests_.load() == 0) FutexWait(&wake_, seen_, idle_ ? kIdleSleepUs : sleep_us_);
    if (ProgramEnded()) return false;
  } while (idle_ && requests_.load() == 0 && wake_.load() == seen_);
  seen_ = wake_.load();
  return true;
}

// Whether every thread of the program has left by a bare exit call, the main thread among them: of
// that no handler is told, and this thread alone would keep the process for ever. The main thread
// stays in the count, but has no executable any more.
bool Drain::ProgramEnded() {
  const int64_t now = base::MonotonicNs();
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + kLookForThreadsEveryNs;
  char name[1];
  struct stat tasks;
  if (readlink("/proc/self/exe", name, sizeof name) >= 0 || errno != ENOENT) return false;
  if (stat("/proc/self/task", &tasks) != 0) return false;
  constexpr nlink_t kDirectories = 2, kMainAndThis = 2;
  if (tasks.st_nlink <= kDirectories + kMainAndThis + OtherThreads()) return true;
  others_outlived_main_ = true;
  return false;
}

int Drain::OtherThreads() const {
  return options_.other_threads == nullptr ? 0 : options_.other_threads();
}

// The kernel takes the process's status from its last thread, which would not be this one.
void Drain::EndProgram() {
  char line[1024] = {};
  const int fd = others_outlived_main_ ? -1 : open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, line, sizeof line - 1) < 0) line[0] = '\0';
  const char* last = strrchr(line, ' ');  // the main thread's wait status
  const int status = last == nullptr ? 0 : atoi(last) >> 8;
  syscall(OtherThreads() == 0 ? SYS_exit : SYS_exit_group, status);
}

void Drain::Run() {
  Result<std::unique_ptr<format::LogWriter>> log =
      format::LogWriter::Create(base::AdoptFile(log_fd_, options_.log_name), options_.identity);
  if (log.ok()) {
    log_ = std::move(*log);
  } else {
    Check(log.status());
  }
  PrepareAhead();
  for (;;) {
    if (!Sleep()) EndProgram();
    const uint32_t before = asked_.load();
    const uint32_t requests = requests_.exchange(0);
    if ((requests & kLeave) != 0) {
      log_.reset();  // here: its descriptor is a number in this thread's table alone
      return;
    }
    Pass(requests);
    answered_.store(before);
    FutexWake(&answered_);
    if ((requests & kQuit) != 0) break;
  }
  if (log_ != nullptr && !failed_) {
    Check(log_->Finish());
    format::RingHeader* header = options_.ring->header();
    if (!failed_) format::RingStore<uint32_t>(header->state, format::kRingFinished);
  }
  log_.reset();
}

void Drain::Pass(uint32_t requests) {
  Recorder& recorder = Recorder::Get();
  format::RingHeader* header = options_.ring->header();
  if (CROSSCUT_FAULT("drain.hold")) return;
  format::RingStore(header->drain_tick, ClockNow());
  idle_ = recorder.phase() == Phase::kOff && requests == 0;
  if ((requests & kDiscard) != 0) Discard();
  if ((requests & kLook) != 0 && RemovedWithItsLog()) failed_ = true;
  if ((requests & kLook) != 0) WriteUsage(/*last=*/true);
  if (requests == kLook || requests == kDiscard) return;
  // In control steps this thread is off like every probe, lest it slow down what they measure, but
  // where steps and what carries its own time have filled the ring.
  const bool called = options_.ring->AnswerCall();
  if (recorder.phase() == Phase::kControl && requests == 0 && !called) return;
  PrepareAhead();
  if (failed_ || CROSSCUT_FAULT("drain.pass")) return;
  if (session_ != recorder.session() && recorder.phase() == Phase::kOn) NameThread();
  if ((requests & kStarted) != 0 && options_.on_start != nullptr) options_.on_start();
  const bool flush = (requests & (kFlush | kQuit)) != 0;
  WriteAnchors(flush);
  if (flush) CollectOpen();
  uint64_t* session_chunk = nullptr;
  recorder.stream().Cut([&](uint64_t* chunk) {
    full_taken_ = options_.ring->TakeFull(full_);
    session_chunk = chunk;
  });
  const bool work = full_taken_ != 0 || flush;
  const bool marks = work && recorder.phase() == Phase::kOn;
  const uint32_t session = recorder.session();
  const uint64_t begin = ClockNow();
  FlushSession(session_chunk);
  if (options_.flight_recorder) {
    KeepSpare();
    if (flush) Snapshot();
  } else {
    FlushFull(full_taken_);
    if (flush) FlushOpen();
  }
  // Told in one event: a pause in between leaves no half of it.
  if (marks && recorder.session() == session) crosscut_span_at(span_name_, begin, ClockNow());
  WriteUsage(/*last=*/false);
  if (own_descriptors_ && options_.on_pass != nullptr) options_.on_pass();
  if (log_ != nullptr) format::RingStore(header->log_bytes, log_->bytes());
}

void Drain::NameThread() {
  Recorder& recorder = Recorder::Get();
  const format::NameAttributes text{format::kKindText, format::kLayerNone, 0, 0};
  const uint32_t probe = recorder.stream().Intern("drain", text.Pack());
  const format::NameAttributes span{format::kKindSpan, format::kLayerOverhead, 0, probe};
  span_name_ = recorder.stream().Intern("drain", span.Pack());
  usage_.Name(&recorder.stream());
  next_usage_ns_ = 0;
  if (recorder.TrackOfThisThread() == 0) return;
  static_cast<ThreadState*>(crosscut_this_thread)->flags |= format::kThreadIsOurs;
  session_ = recorder.session();
}

// Clean chunks for what the threads will need before the next pass, and how soon that is.
void Drain::PrepareAhead() {
  ChunkRing* ring = options_.ring;
  const uint64_t claimed = ring->claimed();
  const uint64_t claims = claimed - claimed_before_;
  claimed_before_ = claimed;
  busiest_ -= (busiest_ + 7) / 8;
  if (claims > busiest_) busiest_ = claims;
  const uint64_t target =
      busiest_ * kPassesAhead > kFewestClean ? busiest_ * kPassesAhead : uint64_t{kFewestClean};
  if (ring->clean() < target) {
    const uint64_t more = target - ring->clean();
    ring->Prepare(static_cast<uint32_t>(more < kPrepareAtOnce ? more : kPrepareAtOnce));
  }
  const bool hurry = claims >= 4 || (ring->clean() < kFewestClean && !ring->exhausted());
  sleep_us_ = hurry ? kShortSleepUs : sleep_us_ * 2;
  sleep_us_ = std::min(sleep_us_, claims == 0 ? kQuietSleepUs : kLongSleepUs);
}

void Drain::Discard() {
  unlink(options_.log_name);
  unlink(options_.ring_name);
  failed_ = true;
}

// The ring, where the log has no name any more.
bool Drain::RemovedWithItsLog() {
  struct stat log;
  if (log_ == nullptr || fstat(log_fd_, &log) != 0 || log.st_nlink != 0) return false;
  unlink(options_.ring_name);
  return true;
}

void Drain::WriteAnchors(bool always) {
  const int64_t now = base::MonotonicNs();
  if (!always && now < next_anchor_ns_) return;
  if (Recorder::Get().phase() == Phase::kOff && !always) return;
  next_anchor_ns_ = now + kAnchorEveryNs;
  if (RemovedWithItsLog()) {
    errno = 0;
    // Whoever removes a recording that has ended wants no more of it: nothing is wrong.
    if (Recorder::Get().phase() == Phase::kOff) failed_ = true;
    Check(Status::Io(std::string(options_.log_name) + ": the log was removed"));
    return;
  }
  for (const format::ClockId id : {format::kClockMonotonic, format::kClockRealtime}) {
    const ClockReading reading = ClockRead(id);
    const uint64_t payload[4] = {id, reading.tick, static_cast<uint64_t>(reading.ns),
                                 static_cast<uint64_t>(reading.error_ns)};
    (void)Recorder::Get().stream().TryWrite(reading.tick, format::kAnchor, payload, 4);
  }
}

// Not where the program's table of descriptors is this thread's, too: the program could see the
// file that this opens.
void Drain::WriteUsage(bool last) {
  const int64_t now = base::MonotonicNs();
  const bool named = session_ == Recorder::Get().session() && session_ != 0;
  const bool due = last || now >= next_usage_ns_;
  if (!due || !named || Recorder::Get().phase() != Phase::kOn) return;
  next_usage_ns_ = now + kUsageEveryNs;
  if (!own_descriptors_) return;
  usage_.Write(ReadUsage(), int64_t{options_.ring->prepared()} * int64_t{format::kRingChunkBytes});
}

// What the session stream holds so far must be in the log before the events that need it.
void Drain::FlushSession(uint64_t* chunk) {
  WriteNames();
  // Chunks of track 0 that are full come before this one.
  uint32_t left = 0;
  for (uint32_t i = 0; i < full_taken_; ++i) {
    uint64_t* full = options_.ring->chunk(full_[i]);
    if (full[format::kChunkTrack] != 0) {
      full_[left++] = full_[i];
      continue;
    }
    const auto end = static_cast<uint32_t>(format::PublishedEnd(full, DrainedTo(full)));
    AppendPart(full, DrainedTo(full), end);
    if (!failed_) options_.ring->Recycle(full_[i]);
    if (full == chunk) chunk = nullptr;
  }
  full_taken_ = left;
  if (chunk == nullptr) return;
  const auto end = static_cast<uint32_t>(format::PublishedEnd(chunk, DrainedTo(chunk)));
  AppendPart(chunk, DrainedTo(chunk), end);
}

void Drain::WriteNames() {
  SessionStream& stream = Recorder::Get().stream();
  while (const uint32_t id = log_ == nullptr || failed_ ? 0 : stream.TakeUnpublished()) {
    const bool written = WriteName(id);
    stream.Published(written);
    if (!written) return;
  }
}

bool Drain::WriteName(uint32_t id) {
  const NameEntry& name = Recorder::Get().stream().names().Get(id);
  const size_t words = 4 + (name.bytes + 7) / 8;
  auto* event = static_cast<uint64_t*>(MapPages(words * 8));
  if (event == nullptr) return false;
  event[0] = ClockNow() << format::kCodeBits | format::kName;
  event[1] = id;
  event[2] = name.attributes;
  event[3] = name.bytes;
  __builtin_memcpy(event + 4, name.text, name.bytes);
  format::Piece piece;
  piece.base_tick = ClockNow();
  piece.words = {event, words};
  Check(log_->AppendSession(piece));
  UnmapPages(event, words * 8);
  return !failed_;
}

void Drain::AppendPart(uint64_t* chunk, uint32_t from, uint32_t end) {
  if (end <= from || log_ == nullptr || failed_) return;
  const auto [track, piece] = PartOf(chunk, from, end);
  Check(track == 0 ? log_->AppendSession(piece) : log_->AppendEvents(track, {&piece, 1}));
  if (CROSSCUT_FAULT("drain.appended")) return;
  // Once the log has the words. -> ChunkRing::Drained(), CountOverwritten() (behind Release()).
  if (!failed_) format::RingStore<uint64_t>(chunk[format::kChunkDrained], end);
}

// Chunks of one track are packed together, up to a batch. A chunk that several tracks wrote is a
// barrier: what was pushed before it is written before it.
void Drain::FlushFull(uint32_t count) {
  uint32_t begin = 0;
  while (begin < count && !failed_) {
    uint32_t run[kBatchChunks];
    uint32_t taken = 0;
    uint32_t kept = begin;
    const uint64_t* first = options_.ring->chunk(full_[begin]);
    const bool alone = first[format::kChunkReserved] != 0;
    bool barrier = false;
    for (uint32_t i = begin; i < count; ++i) {
      const uint64_t* chunk = options_.ring->chunk(full_[i]);
      const bool mixed = chunk[format::kChunkReserved] != 0;
      barrier = barrier || (mixed && i != begin);
      const bool take = i == begin || (!alone && !barrier && taken < kBatchChunks &&
                                       chunk[format::kChunkTrack] == first[format::kChunkTrack]);
      if (take) {
        run[taken++] = full_[i];
      } else {
        full_[kept++] = full_[i];
      }
    }
    AppendRun(run, taken);
    count = kept;
  }
}

void Drain::AppendRun(const uint32_t* indices, uint32_t count) {
  format::Piece pieces[kBatchChunks];
  uint32_t n = 0;
  uint32_t track = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t* chunk = options_.ring->chunk(indices[i]);
    const uint32_t from = DrainedTo(chunk);
    const auto end = static_cast<uint32_t>(format::PublishedEnd(chunk, from));
    if (end <= from) continue;
    const Part part = PartOf(chunk, from, end);
    if (n == 0) track = part.track;
    pieces[n++] = part.piece;
  }
  if (n != 0 && log_ != nullptr) Check(log_->AppendEvents(track, {pieces, n}));
  if (CROSSCUT_FAULT("drain.appended") || failed_) return;
  for (uint32_t i = 0; i < count; ++i) options_.ring->Recycle(indices[i]);
}

// Chunks still being written, and how far they may be taken now: what is published later may
// depend on chunks that became full later.
void Drain::CollectOpen() {
  open_count_ = 0;
  const uint32_t room = options_.ring->chunk_count();
  Recorder::Get().ForEachOpenChunk([&](uint64_t* chunk) {
    if (open_count_ == room) return;
    options_.ring->Hold(chunk);
    // Of ChunkRing::Begin() or PushFull(): acquire, so that track and tick are of this fill.
    const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
    if (!IsWritten(state) || chunk[format::kChunkTrack] == 0) {
      options_.ring->Release(chunk);
      return;
    }
    const auto end = static_cast<uint32_t>(format::PublishedEnd(chunk, DrainedTo(chunk)));
    open_[open_count_++] = {chunk, state, end};
  });
}

// Also what has become full since, unless it was taken with the full ones before and written then:
// it may be recycled and claimed for another fill.
void Drain::FlushOpen() {
  for (uint32_t i = 0; i < open_count_; ++i) {
    uint64_t* chunk = open_[i].chunk;
    const uint64_t state = format::RingLoad(chunk[format::kChunkState]);
    if (!IsWritten(state) || format::ChunkFill(state) != format::ChunkFill(open_[i].state))
      continue;
    AppendPart(chunk, DrainedTo(chunk), open_[i].end);
  }
  for (uint32_t i = 0; i < open_count_; ++i) options_.ring->Release(open_[i].chunk);
  open_count_ = 0;
}

// ---- Flight recorder ----------------------------------------------------------------------------

// So that threads need not overwrite chunks themselves. Where few wait they do it nevertheless: a
// thread that has just pushed one must find one, also while this one is held up with what it took.
void Drain::KeepSpare() {
  ChunkRing* ring = options_.ring;
  const uint32_t chunks = ring->chunk_count();
  const uint32_t spare = chunks / 4 < kSpareWhenKeeping ? chunks / 4 : kSpareWhenKeeping;
  while (ring->clean() < spare && ring->exhausted() && ring->waiting() > chunks / 2) {
    const uint32_t oldest = ring->TakeOldest();
    if (oldest == ChunkRing::kNone) return;
    ring->Overwrite(oldest);
  }
}

void Drain::Snapshot() {
  ChunkRing* ring = options_.ring;
  const uint64_t now = ClockNow();
  const uint64_t oldest =
      options_.keep_ticks == 0 || now < options_.keep_ticks ? 0 : now - options_.keep_ticks;
  const uint64_t pushed = ring->pushed();
  uint32_t count = 0;
  for (uint32_t next; (next = ring->TakeOldest(pushed)) != ChunkRing::kNone;) {
    // A chunk is older than the next one's first word; the last may reach to now.
    if (count == 1 && ring->chunk(next)[format::kChunkBaseTick] < oldest) {
      ring->Overwrite(full_[--count]);
    }
    full_[count++] = next;
  }
  FlushFull(count);
  FlushOpen();
}

void Drain::Check(const Status& status) {
  if (status.ok() || failed_) return;
  failed_ = true;
  format::RingHeader* header = options_.ring->header();
  const int number = errno;
  format::RingStore(header->failed_at_byte, log_ == nullptr ? uint64_t{1} : log_->bytes());
  format::RingStore(header->failed_errno, static_cast<uint32_t>(number));
  if (options_.on_failure != nullptr) {
    char words[512];
    const std::string_view message = status.message();
    const size_t n = message.copy(words, sizeof words - 1);
    words[n] = '\0';
    options_.on_failure(words, number);
  }
}

}  // namespace crosscut::record
