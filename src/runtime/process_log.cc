#include "src/runtime/process_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <new>
#include <string>

#include "src/base/descriptors.h"
#include "src/base/quantity.h"
#include "src/collect/clock.h"
#include "src/collect/memory.h"
#include "src/collect/recorder.h"
#include "src/collect/slow_path.h"
#include "src/format/ring.h"
#include "src/runtime/error.h"
#include "src/runtime/rank.h"

namespace crosscut::record {
namespace {

constexpr uint64_t kFewestChunks = 16;
constexpr uint64_t kRingHeaderChunks = format::kRingHeaderBytes / format::kRingChunkBytes;
constexpr uint32_t kMultShift = 32;
constexpr int kFlushWaitMs = 10'000;
constexpr int kEndWaitMs = 2000;  // a disk that does not answer keeps no program from its end
constexpr const char* kOtherFolder = "another folder has taken its place";

uint64_t Nonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce || nonce == 0) {
    nonce = ClockNow() ^ static_cast<uint64_t>(getpid()) << 40;
  }
  return nonce == 0 ? 1 : nonce;
}

// Names, thread states, drain buffers and compressor take the rest of the cap.
uint64_t RingChunks(size_t memory_bytes) {
  const uint64_t chunks = memory_bytes / 16 * 12 / format::kRingChunkBytes;
  return chunks < kFewestChunks ? kFewestChunks : chunks;
}

const char* TicksName() {
  switch (ClockSource()) {
    case format::kTicksTsc: return "tsc";
    case format::kTicksCntvct: return "cntvct";
    default: return "monotonic";
  }
}

}  // namespace

bool ProcessLog::Fits(const Settings& settings) const {
  return open_ && strcmp(settings.run_dir, settings_.run_dir) == 0 &&
         settings.memory_bytes == settings_.memory_bytes &&
         settings.flight_recorder == settings_.flight_recorder;
}

bool ProcessLog::Removed() const { return access(log_path_, F_OK) != 0; }

void ProcessLog::Close() {
  ChunkRing& ring = *this->ring();
  const bool removed = Removed();
  if (removed) broken_.store(true);  // the drain need not tell
  if (!broken_.load()) {
    drain_.Ask(Drain::kFlush);
    (void)drain_.Await(kFlushWaitMs);
  }
  // What the ring alone knows, it tells whoever reads the run.
  const bool leave = !broken_.load() && (ring.HasLosses() || !ring.Drained());
  leave ? drain_.Leave(/*written_on=*/false) : drain_.Quit();
  Recorder::Get().stream().LeaveRing();
  ring.Retire();
  if (removed || (!leave && !broken_.load())) unlink(ring_path_);
  open_ = false;
  broken_.store(false);
  ring_index_ ^= 1;
}

// The drain does it: this thread may be forbidden to. However late: nobody but who holds the log
// can tell a run that was removed from one that was moved, and so whether its ring is still needed.
void ProcessLog::LeaveFiles(bool recorded) {
  drain_.Ask(recorded ? Drain::kLook : Drain::kDiscard);
  (void)drain_.Await(kEndWaitMs);
}

int ProcessLog::Open(const Settings& settings, const Calls& calls) {
  const Settings before = settings_;
  settings_ = settings;
  const uint64_t start_tick = ClockNow();
  const uint64_t nonce = Nonce();
  const base::ProcessIdentity self = base::ThisProcess();
  int error = OpenLog(start_tick);
  if (error == CROSSCUT_OK) {
    format::RingHeader header = {};
    const format::LogIdentity identity = {nonce, self.pid, self.start, start_tick};
    FillHeader(identity, self, &header);
    error = OpenRing(header);
    if (error == CROSSCUT_OK) error = StartDrain(identity, self, calls);
    if (error != CROSSCUT_OK) {
      close(log_fd_);
      unlink(log_path_);
    }
  }
  log_fd_.store(-1);
  mark_.store(-1);
  if (error != CROSSCUT_OK) {
    settings_ = before;
    return error;
  }
  open_ = true;
  SayThatSessionIsHere();
  owner_ = static_cast<int>(self.pid);
  return CROSSCUT_OK;
}

// Takes the ring away where it fails.
int ProcessLog::StartDrain(const format::LogIdentity& identity, const base::ProcessIdentity& self,
                           const Calls& calls) {
  ChunkRing* ring = this->ring();
  if (settings_.flight_recorder) ring->KeepNewest();
  DrainOptions options;
  options.ring = ring;
  options.identity = identity;
  options.ring_name = ring_path_;
  options.mark = mark_;
  options.log_name = log_path_;
  options.flight_recorder = settings_.flight_recorder;
  options.keep_ticks = settings_.keep_seconds > 0
                           ? static_cast<uint64_t>(settings_.keep_seconds * 1e9 / ClockNsPerTick())
                           : 0;
  options.on_start = calls.on_start;
  options.on_pass = calls.on_pass;
  options.on_failure = calls.on_failure;
  options.other_threads = calls.other_threads;
  int error = CROSSCUT_OK;
  if (!Recorder::Get().BeginSession(ring, settings_.memory_bytes)) {
    error = Fail(CROSSCUT_ENOMEM, "no memory for a session");
  } else {
    WriteFacts(self);
    Recorder::Get().stream().PublishAllNames();
    const int number = drain_.Start(options, log_fd_);
    if (number != 0) error = Fail(CROSSCUT_ENOMEM, "cannot start a thread: %s", strerror(number));
  }
  if (error == CROSSCUT_OK) return error;
  Recorder::Get().stream().LeaveRing();
  ring->Retire();
  unlink(ring_path_);
  close(mark_);
  ring_index_ ^= 1;
  return error;
}

int ProcessLog::OpenLog(uint64_t start_tick) {
  snprintf(key_, sizeof key_, "p%d-%llx", static_cast<int>(getpid()),
           static_cast<unsigned long long>(start_tick));
  snprintf(log_path_, sizeof log_path_, "%.*s/%s.crosscut", static_cast<int>(kPathBytes - 128),
           settings_.run_dir, key_);
  const RunFolder run(settings_.run_dir, settings_.run);
  log_fd_ = run.Open(strrchr(log_path_, '/') + 1, O_RDWR | O_CREAT | O_EXCL);
  if (log_fd_ < 0) {
    return Fail(CROSSCUT_EIO, "cannot write in %.120s: %s", settings_.run_dir,
                run.fd() < 0 ? kOtherFolder : strerror(errno));
  }
  return CROSSCUT_OK;
}

int ProcessLog::OpenRing(const format::RingHeader& header) {
  const uint64_t chunks = RingChunks(settings_.memory_bytes);
  ring_note_[0] = '\0';
  char dir[kPathBytes];
  RingDirectory(settings_, dir);
  int error = dir[0] == '\0' ? ENOENT : TryRing(dir, AT_FDCWD, chunks, header);
  if (error == 0) return CROSSCUT_OK;
  char why[128];
  snprintf(why, sizeof why, "%s", strerror(error));
  const RunFolder run(settings_.run_dir, settings_.run);
  error = run.fd() < 0 ? ESTALE : TryRing(settings_.run_dir, run.fd(), chunks, header);
  if (error != 0) {
    return Fail(CROSSCUT_EIO, "cannot make a ring: %.60s in /dev/shm, %.60s in the run directory",
                why, strerror(error));
  }
  snprintf(ring_note_, sizeof ring_note_, "in the run directory: %.100s: %.60s",
           dir[0] == '\0' ? "/dev/shm" : dir, why);
  Say("the ring is %s", ring_note_);
  return CROSSCUT_OK;
}

// Takes at most half of what the file system has left, and what a file may have. `folder`: `dir`,
// open, where nobody's link shall lead elsewhere.
int ProcessLog::TryRing(const char* dir, int folder, uint64_t wanted,
                        const format::RingHeader& header) {
  uint64_t chunks = wanted;
  struct statvfs space;
  if (statvfs(dir, &space) == 0 && space.f_blocks != 0) {
    const uint64_t most = space.f_bavail * space.f_frsize / 2 / format::kRingChunkBytes;
    if (most < chunks) chunks = most;
  }
  if (chunks < kFewestChunks / 2) return ENOSPC;
  const char* why = "is small";
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur / format::kRingChunkBytes < chunks + kRingHeaderChunks) {
    why = "takes files only up to the limit of their size (ulimit -f)";
    chunks = limit.rlim_cur / format::kRingChunkBytes;
    if (chunks < kFewestChunks / 2 + kRingHeaderChunks) return EFBIG;
    chunks -= kRingHeaderChunks;
  }
  const std::string path = format::RingPath(dir, header.pid, header.nonce);
  if (path.size() >= sizeof ring_path_) return ENAMETOOLONG;
  memcpy(ring_path_, path.c_str(), path.size() + 1);
  // Else its pages stay, which take no memory: it is the one before the last.
  if (!Recorder::Get().SomeThreadMarks()) ring()->Unmap();
  new (ring()) ChunkRing();
  char opened[128];
  const int end = snprintf(opened, sizeof opened, "/proc/self/fd/%d", folder);
  const bool by_number = folder >= 0 && access(opened, F_OK) == 0;
  snprintf(opened + end, sizeof opened - end, "%s", strrchr(ring_path_, '/'));
  int mark = -1;
  const int error = ring()->Create(by_number ? opened : ring_path_, chunks, header, &mark);
  mark_.store(mark);
  if (error == 0 && chunks < wanted) {
    snprintf(ring_note_, sizeof ring_note_, "%llu KiB instead of %llu KiB: %.120s %s",
             static_cast<unsigned long long>(chunks) * 64,
             static_cast<unsigned long long>(wanted) * 64, dir, why);
    Say("the ring has %s", ring_note_);
  }
  return error;
}

void ProcessLog::FillHeader(const format::LogIdentity& log, const base::ProcessIdentity& self,
                            format::RingHeader* header) {
  header->nonce = log.nonce;
  header->pid = self.pid;
  header->pid_start = self.start;
  header->pid_namespace = self.pid_namespace;
  header->boot = self.boot;
  header->run_device = settings_.run.device;
  header->run_inode = settings_.run.inode;
  header->run_made_ns = settings_.run.made_ns;
  const size_t bytes = strlen(settings_.run_dir);
  if (bytes < sizeof header->control.run_dir) {
    memcpy(header->control.run_dir, settings_.run_dir, bytes + 1);
  }
  const double ns_per_tick = ClockNsPerTick();
  const ClockReading monotonic = ClockRead(format::kClockMonotonic);
  const ClockReading realtime = ClockRead(format::kClockRealtime);
  header->tick_source = ClockSource();
  header->ns_shift = kMultShift;
  header->ns_mult = static_cast<uint64_t>(llround(ns_per_tick * (uint64_t{1} << kMultShift)));
  header->anchor_tick = monotonic.tick;
  header->anchor_ns = monotonic.ns;
  header->anchor_realtime_ns =
      realtime.ns -
      static_cast<int64_t>(static_cast<double>(realtime.tick - monotonic.tick) * ns_per_tick);
  header->state = format::kRingPreparing;
  header->start_tick = log.start_tick;
  snprintf(header->log_name, sizeof header->log_name, "%s.crosscut", key_);
}

void ProcessLog::WriteFacts(const base::ProcessIdentity& self) {
  SessionStream& stream = Recorder::Get().stream();
  char number[32];
  snprintf(number, sizeof number, "%lld", static_cast<long long>(self.pid));
  stream.WriteMeta("pid", number);
  snprintf(number, sizeof number, "%d", static_cast<int>(getppid()));
  stream.WriteMeta("parent_pid", number);
  stream.WriteMeta("ring", ring_path_);
  stream.WriteMeta("ticks", TicksName());
  const format::RingHeader* header = this->header();
  char rate[48];  // the ring goes when its process does, maybe before there is a second anchor
  snprintf(rate, sizeof rate, "%llu/%u", static_cast<unsigned long long>(header->ns_mult),
           static_cast<unsigned>(header->ns_shift));
  stream.WriteMeta("ns_per_tick", rate);
  char executable[kPathBytes];
  const ssize_t n = readlink("/proc/self/exe", executable, sizeof executable);
  if (n > 0) stream.WriteMeta("executable", {executable, static_cast<size_t>(n)});
  stream.WriteMeta("argv0", program_invocation_name);
  stream.WriteMeta("process_key", key_);
  WriteHost(self);
  WriteOrigin(self);
  WriteRank();
  WriteSettings();
  for (const format::ClockId id : {format::kClockMonotonic, format::kClockRealtime}) {
    const ClockReading reading = ClockRead(id);
    const uint64_t payload[4] = {id, reading.tick, static_cast<uint64_t>(reading.ns),
                                 static_cast<uint64_t>(reading.error_ns)};
    stream.Write(reading.tick, format::kAnchor, payload, 4);
  }
}

// Times of different boots cannot be compared, nor those of time namespaces, which have clocks of
// their own: readers refuse to mix them.
void ProcessLog::WriteHost(const base::ProcessIdentity& self) {
  SessionStream& stream = Recorder::Get().stream();
  char text[256] = "";
  if (gethostname(text, sizeof text - 1) == 0) stream.WriteMeta("host", text);
  if (self.boot == 0) return;
  constexpr unsigned kFirstTimeNamespace = 0xeffffffa;
  unsigned space = kFirstTimeNamespace;
  char link[64] = "";
  if (readlink("/proc/self/ns/time", link, sizeof link - 1) > 0) sscanf(link, "time:[%u]", &space);
  const int used =
      snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(self.boot));
  if (space != kFirstTimeNamespace) {
    snprintf(text + used, sizeof text - static_cast<size_t>(used), "-%u", space);
  }
  stream.WriteMeta("boot_id", text);
}

void ProcessLog::WriteOrigin(const base::ProcessIdentity& self) {
  SessionStream& stream = Recorder::Get().stream();
  // A forked child knows its parent; others are told by the environment. An image that finds its
  // own pid in the parent's key came by exec.
  const char* parent = parent_key_[0] != '\0' ? parent_key_ : secure_getenv("CROSSCUT_PARENT");
  const bool told = parent != nullptr && *parent != '\0';
  const char* method = start_method_;
  if (method == nullptr) {
    char number[32];
    snprintf(number, sizeof number, "p%lld-", static_cast<long long>(self.pid));
    method = told ? (strncmp(parent, number, strlen(number)) == 0 ? "exec" : "subprocess")
             : secure_getenv("CROSSCUT_RUN") != nullptr ? "record"
                                                        : "api";
  }
  if (told) stream.WriteMeta("parent_key", parent);
  stream.WriteMeta("start_method", method);
  if (process_name_[0] != '\0') stream.WriteMeta("process_name", process_name_);
}

void ProcessLog::WriteSettings() {
  SessionStream& stream = Recorder::Get().stream();
  char number[32];
  snprintf(number, sizeof number, "%zu", settings_.memory_bytes);
  stream.WriteMeta("memory_bytes", number);
  stream.WriteMeta("policy", settings_.flight_recorder ? "flight_recorder" : "drop_newest");
  if (ring_note_[0] != '\0') stream.WriteMeta("ring_note", ring_note_);
  base::WriteNumber(settings_.shares.of[format::kLevelControl] / 10'000.0, number, sizeof number);
  stream.WriteMeta("control_percent", number);
  char plan[128];
  format::WriteStepShares(settings_.shares, plan, sizeof plan);
  stream.WriteMeta("plan", plan);
  if (settings_.budget > 0) {
    base::WriteNumber(settings_.budget * 100, number, sizeof number);
    stream.WriteMeta("budget_percent", number);
  }
  snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(settings_.seed));
  stream.WriteMeta("seed", number);
}

void ProcessLog::NameProcess(const char* name) {
  snprintf(process_name_, sizeof process_name_, "%s", name);
}

void ProcessLog::TellStop(uint64_t tick, format::StopReason reason) {
  format::RingStore(header()->stop_tick, tick);
  format::RingStore<uint32_t>(header()->stop_reason, reason);
}

void ProcessLog::WriteStop(uint64_t tick, format::StopReason reason, bool waits) {
  const uint64_t payload = reason;
  SessionStream& stream = Recorder::Get().stream();
  (void)(waits ? stream.Write(tick, format::kStop, &payload, 1)
               : stream.TryWrite(tick, format::kStop, &payload, 1));
}

void ProcessLog::AfterFork(bool parent) {
  if (parent) memcpy(parent_key_, key_, sizeof parent_key_);
  open_ = false;
  broken_.store(false);
  start_method_ = "fork";
  for (std::atomic<int>* inherited : {&log_fd_, &mark_}) {
    if (const int fd = inherited->exchange(-1); fd >= 0) close(fd);
  }
  drain_.AfterFork();
  new (&rings_[0]) ChunkRing();
  new (&rings_[1]) ChunkRing();
}

}  // namespace crosscut::record
