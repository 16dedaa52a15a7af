#include "src/format/reap.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "src/base/descriptors.h"
#include "src/base/fault_point.h"
#include "src/base/file.h"
#include "src/format/log_writer.h"
#include "src/format/process_state.h"
#include "src/format/ring_search.h"
#include "src/format/run_reader.h"

namespace crosscut::format {
namespace {

constexpr const char* kLockName = "/.reap.lock";

}  // namespace

class Reaper {
 public:
  // `folder`: `dir`, open.
  Reaper(std::string dir, int folder, ReapReport* report)
      : dir_(std::move(dir)), folder_(folder), report_(report) {}

  void Reap(ProcessReader* reader) {
    ProcessReader::State* state = reader->state_.get();
    const ProcessInfo& info = state->info;
    if (info.finished && !info.has_ring) return;
    ReapReport::Process process;
    process.key = info.key;
    process.pid = info.identity.pid;
    if (info.liveness != base::Liveness::kDead) {
      process.alive = !info.finished;
      if (process.alive) report_->processes.push_back(process);
      return;
    }
    Status status = info.finished ? Status() : FinishLog(reader);
    if (status.ok() && info.has_ring) status = DeleteRing(*state);
    if (!status.ok()) process.problem = status.message();
    report_->processes.push_back(process);
  }

 private:
  // Only the ring that was read: another may stand under its name by now.
  Status DeleteRing(const ProcessReader::State& state) {
    struct stat info;
    if (CROSSCUT_FAULT("reap.delete")) return Status::Io("injected");
    if (lstat(state.ring.path.c_str(), &info) != 0) return {};
    if (info.st_dev != state.ring.device || info.st_ino != state.ring.inode) return {};
    if (unlink(state.ring.path.c_str()) != 0) return Status::Io(state.ring.path + ": unlink");
    ++report_->rings_deleted;
    return {};
  }

  Result<std::unique_ptr<LogWriter>> OpenLog(const ProcessInfo& info) {
    std::string path = info.log_path;
    if (path.empty()) {
      if (info.key.empty() || info.key.find('/') != std::string::npos || info.key[0] == '.') {
        return Status::Corrupt(info.ring_path + ": its log's name");
      }
      path = dir_ + "/" + info.key + ".crosscut";
    }
    auto file = base::OpenFile(path, base::OpenMode::kAppend, folder_);
    if (!file.ok() && file.status().code() == Status::Code::kNotFound) {
      file = base::OpenFile(path, base::OpenMode::kCreateNew, folder_);
    }
    if (!file.ok()) return file.status();
    LogWriter::RepairReport repaired;
    auto writer = LogWriter::Repair(std::move(*file), info.identity, &repaired);
    if (!writer.ok()) return writer.status().At(path);
    return writer;
  }

  Status FinishLog(ProcessReader* reader) {
    ProcessReader::State* state = reader->state_.get();
    if (state->log == nullptr && !state->info.problem.empty() && !TornHeader(state->info)) {
      return Status::Corrupt(state->info.problem);
    }
    auto writer = OpenLog(state->info);
    if (!writer.ok()) return writer.status();
    if (CROSSCUT_FAULT("reap.opened")) return Status::Io("injected");
    Status status = Drain(state, writer->get());
    if (status.ok() && CROSSCUT_FAULT("reap.appended")) status = Status::Io("injected");
    if (status.ok()) status = (*writer)->Finish();
    if (!status.ok()) return status;
    ++report_->finished;
    return {};
  }

  static bool TornHeader(const ProcessInfo& info) {
    struct stat stat_info;
    return info.has_ring && lstat(info.log_path.c_str(), &stat_info) == 0 &&
           stat_info.st_size < static_cast<off_t>(kLogHeaderBytes);
  }

  // What only the ring's header says, and goes with the ring.
  static Status AppendFacts(LogWriter* writer, const RingHeader& ring, bool stopped) {
    Status status;
    if (ring.last_plugin[0] != '\0') {
      status = AppendFact(writer, ring, "in_plugin", ring.last_plugin);
    }
    if (status.ok() && ring.drain_tick != 0 && !stopped)
      status = AppendFact(writer, ring, "last_seen", "drain");
    return status;
  }

  // At the time when its drain last looked.
  static Status AppendFact(LogWriter* writer, const RingHeader& ring, std::string_view key,
                           std::string_view value) {
    std::vector<uint64_t> words = {ring.drain_tick << kCodeBits | kMeta, key.size(), value.size(),
                                   0};
    for (const std::string_view text : {key, value}) {
      const size_t at = words.size();
      words.resize(at + (text.size() + 7) / 8);
      memcpy(words.data() + at, text.data(), text.size());
    }
    return writer->AppendSession({0, 0, ring.drain_tick, words});
  }

  // Everything that only the ring holds, as it stands there: session words first.
  static Status Drain(ProcessReader::State* state, LogWriter* writer) {
    ProcessReader::State::DropTotals told;
    state->seen.Clear();
    auto session = [&](const WordBatch& batch) {
      state->NoteStops(batch.words);
      return Status();
    };
    auto events = [&](const WordBatch& batch) {
      ProcessReader::State::CountDrops(batch, &told);
      return Status();
    };
    Status status = state->WalkLog(true, session);
    if (status.ok()) status = state->WalkLog(false, events);
    if (!status.ok()) return status;
    auto append_session = [&](const Piece& piece, uint32_t) {
      state->NoteStops(piece.words);
      return writer->AppendSession(piece);
    };
    auto append_events = [&](const Piece& piece, uint32_t track) {
      WordBatch batch;
      batch.track = track;
      batch.words = piece.words;
      (void)events(batch);
      return writer->AppendEvents(track, std::span(&piece, 1));
    };
    status = state->WalkRing(true, append_session);
    if (status.ok()) status = state->WalkRing(false, append_events);
    if (status.ok() && state->has_ring) {
      status = AppendFacts(writer, state->info.ring, state->info.stopped);
    }
    if (!status.ok()) return status;
    return state->WalkDrops(told, [&](const WordBatch& batch) {
      const Piece piece = {0, 0, batch.base_tick, batch.words};
      return writer->AppendEvents(batch.track, std::span(&piece, 1));
    });
  }

  std::string dir_;
  const int folder_;
  ReapReport* report_;
};

namespace {

// Closes it at the end.
struct Folder {
  ~Folder() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

bool HoldsRun(int folder) {
  if (faccessat(folder, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  DIR* entries = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bool found = false;
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries)) {
    found = found || std::string_view(entry->d_name).ends_with(".crosscut");
  }
  if (entries != nullptr) closedir(entries);
  return found;
}

}  // namespace

Result<ReapReport> ReapRun(const std::string& dir, int wait_ms) {
  const Folder folder = {open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  struct stat opened;
  if (folder.fd < 0 || fstat(folder.fd, &opened) != 0) {
    return Status::NotFound(dir + ": no such directory");
  }
  if (!HoldsRun(folder.fd)) {  // a ring alone makes a run, too; no file in what is none
    const auto run = RunReader::Open(dir);
    if (!run.ok()) return run.status();
  }
  Result<base::FileLock> lock = base::FileLock::Take(dir + kLockName, wait_ms, folder.fd);
  if (!lock.ok()) return lock.status();
  auto run = RunReader::Open(dir);
  if (!run.ok()) return run.status();
  if ((*run)->folder().device != opened.st_dev || (*run)->folder().inode != opened.st_ino) {
    return Status::Invalid(dir + ": another folder has taken its place");
  }
  const base::NoSignal no_signal(SIGXFSZ);
  ReapReport report;
  Reaper reaper(dir, folder.fd, &report);
  for (ProcessReader* process : (*run)->processes()) reaper.Reap(process);
  return report;
}

}  // namespace crosscut::format
