#include "tests/stress/check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "src/format/reap.h"
#include "src/format/ring.h"
#include "tests/stress/reading.h"

namespace crosscut::stress {
namespace {

namespace fs = std::filesystem;

class Checker {
 public:
  explicit Checker(const std::string& dir) : dir_(fs::canonical(dir)) { all_.Load(dir_); }
  int Run();

 private:
  void Say(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void Findings();
  void OneRun(uint32_t run);
  void Required(const FoundRun& found);
  void SameAfterReaping(const FoundRun& before, const FoundRun& after);
  void Flushes(const FoundRun& found);
  void Flushed(const FoundRun& found, const std::string& key, uint64_t tick, uint64_t bytes);
  void Rings();

  std::string dir_;
  AllOps all_;
  int wrong_ = 0;
  uint64_t kept_ = 0, sure_ = 0, dropped_ = 0;
};

void Checker::Say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
  ++wrong_;
}

void Checker::Findings() {
  std::ifstream lines(dir_ + "/findings");
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) ++counts[line];
  for (const auto& [line, count] : counts)
    Say("in the program: %s (%d times)", line.c_str(), count);
}

const char* WordOf(What what) {
  constexpr const char* kWords[] = {"",          "thread",  "counter", "instant", "begin",  "end",
                                    "end_named", "span_at", "intern",  "step",    "nothing"};
  return kWords[static_cast<int>(what)];
}

// What the recording of a process says of the time of a mark that is lost.
std::string TimeOf(const FoundRun::Process& process, uint64_t tick) {
  std::string text;
  for (const auto& [from, to, reason] : process.sessions) {
    if (from > tick || (to != 0 && to < tick)) continue;
    text = std::to_string(tick - from) + " ticks after the session began";
    if (to != 0) text += ", " + std::to_string(to - tick) + " before its end";
  }
  int level = -1;
  for (const auto& [at, is] : process.levels) {
    if (at <= tick) level = is;
  }
  if (text.empty()) text = "in no session of the log";
  return level < 0 ? text : text + ", in a step of level " + std::to_string(level);
}

// Nothing is lost that is not told: of what was certainly inside.
void Checker::Required(const FoundRun& found) {
  std::map<int64_t, std::vector<std::pair<const Ops*, const Op*>>> lost;
  std::map<int64_t, uint64_t> sure;
  for (size_t f = 0; f < all_.files().size(); ++f) {
    const Ops& file = all_.files()[f];
    const auto process = found.processes.find(file.header->pid);
    for (size_t i = 0; i < file.count; ++i) {
      const Op& op = file.ops[i];
      if (op.what == What::kThread || op.what == What::kIntern || op.end == 0) continue;
      if (found.times[f][i] != 0) ++kept_;
      const bool inside =
          op.sure == Sure::kInside || (op.sure == Sure::kPaused && op.what == What::kStep);
      if (!inside || (op.run & kRunMask) != found.run) continue;
      ++sure[file.header->pid];
      if (found.times[f][i] != 0) continue;
      // The disk was full: what came after is told by the reason of the stop.
      if (process != found.processes.end() && process->second.disk_failed) continue;
      lost[file.header->pid].push_back({&file, &op});
    }
  }
  for (const auto& [pid, count] : sure) sure_ += count;
  for (const auto& [pid, process] : found.processes) dropped_ += process.dropped;
  for (auto& [pid, marks] : lost) {
    const auto at = found.processes.find(pid);
    if (at == found.processes.end()) {
      Say("run %u: process %lld has no log, and %zu marks (%s)", found.run,
          static_cast<long long>(pid), marks.size(), marks[0].first->header->role);
      continue;
    }
    if (marks.size() <= at->second.dropped + at->second.repaired) continue;
    Say("run %u: %zu of %llu marks of process %lld are lost, %llu told", found.run, marks.size(),
        static_cast<unsigned long long>(sure[pid]), static_cast<long long>(pid),
        static_cast<unsigned long long>(at->second.dropped));
    std::map<std::string, int> by;
    for (const auto& [file, op] : marks) {
      ++by[std::to_string(file->header->serial) + "." + file->header->role + "'s " +
           WordOf(op->what)];
    }
    std::string kinds;
    for (const auto& [kind, count] : by) kinds += " " + std::to_string(count) + " " + kind;
    for (const auto& [reason, count] : at->second.by_reason) {
      kinds += "; told for reason " + std::to_string(reason) + ": " + std::to_string(count);
    }
    printf("   %s\n", kinds.c_str());
    std::sort(marks.begin(), marks.end(),
              [](const auto& a, const auto& b) { return a.second->begin < b.second->begin; });
    const auto show = [&](const auto& mark) {
      printf("    %s of %s #%ld at %llu: %s\n", WordOf(mark.second->what), mark.first->header->role,
             static_cast<long>(mark.second - mark.first->ops),
             static_cast<unsigned long long>(mark.second->begin),
             TimeOf(at->second, mark.second->begin).c_str());
    };
    for (size_t i = 0; i < std::min<size_t>(marks.size(), 3); ++i) show(marks[i]);
    if (marks.size() > 3) show(marks.back());
  }
}

void Checker::SameAfterReaping(const FoundRun& before, const FoundRun& after) {
  uint64_t less = 0, more = 0;
  for (size_t f = 0; f < before.times.size(); ++f) {
    for (size_t i = 0; i < before.times[f].size(); ++i) {
      less += before.times[f][i] > after.times[f][i] ? 1 : 0;
      more += before.times[f][i] < after.times[f][i] ? 1 : 0;
    }
  }
  if (less + more != 0) {
    Say("run %u: reaping lost %llu events and invented %llu", before.run,
        static_cast<unsigned long long>(less), static_cast<unsigned long long>(more));
  }
}

// What flush() returned for is in the part of the log that it left, without the ring.
void Checker::Flushed(const FoundRun& found, const std::string& key, uint64_t tick,
                      uint64_t bytes) {
  const auto number = std::find(found.keys.begin(), found.keys.end(), key) - found.keys.begin();
  if (number == static_cast<ptrdiff_t>(found.keys.size())) return;
  const std::string run = dir_ + "/runs/" + std::to_string(found.run);
  const std::string copy = dir_ + "/flushed";
  fs::remove_all(copy);
  fs::create_directory(copy);
  std::error_code error;
  fs::copy_file(run + "/run.json", copy + "/run.json", error);
  fs::copy_file(run + "/" + key + ".crosscut", copy + "/" + key + ".crosscut", error);
  if (error || truncate((copy + "/" + key + ".crosscut").c_str(), static_cast<off_t>(bytes)) != 0) {
    return;
  }
  const FoundRun part = ReadRun(copy, found.run, all_);
  uint64_t missing = 0;
  const Op* first = nullptr;
  const Ops* whose = nullptr;
  for (size_t f = 0; f < all_.files().size(); ++f) {
    const Ops& file = all_.files()[f];
    for (size_t i = 0; i < file.count; ++i) {
      const Op& op = file.ops[i];
      if (op.end == 0 || op.end >= tick || found.times[f][i] == 0) continue;
      if (found.key_of[f][i] != number || part.times[f][i] != 0) continue;
      if (op.sure == Sure::kUnknown || found.hidden[f][i] != 0) continue;
      ++missing;
      if (first == nullptr) first = &op, whose = &file;
    }
  }
  fs::remove_all(copy);
  if (missing == 0) return;
  Say("run %u, %s: flush() left out %llu events of before; the first, %s of %s, %llu ticks old",
      found.run, key.c_str(), static_cast<unsigned long long>(missing), WordOf(first->what),
      whose->header->role, static_cast<unsigned long long>(tick - first->begin));
}

void Checker::Flushes(const FoundRun& found) {
  std::ifstream lines(dir_ + "/flushes");
  int checked = 0;
  uint32_t run = 0;
  std::string key;
  uint64_t tick = 0, bytes = 0;
  while (lines >> run >> key >> tick >> bytes) {
    if (run == found.run && ++checked <= 8) Flushed(found, key, tick, bytes);
  }
}

void Checker::OneRun(uint32_t run) {
  const std::string dir = dir_ + "/runs/" + std::to_string(run);
  const FoundRun before = ReadRun(dir, run, all_);
  if (getenv("STRESS_NO_REAP") != nullptr) return;
  const auto reaped = format::ReapRun(dir);
  if (!reaped.ok()) Say("run %u: %s", run, std::string(reaped.status().message()).c_str());
  const FoundRun found = ReadRun(dir, run, all_);
  for (const std::string& sentence : found.wrong) Say("%s", sentence.c_str());
  for (const auto& [kind, count] : found.wrong_counts) {
    if (count > 3)
      printf("    %llu times: %s\n", static_cast<unsigned long long>(count), kind.c_str());
  }
  Required(found);
  SameAfterReaping(before, found);
  bool disk_failed = false;
  for (const auto& [pid, process] : found.processes) disk_failed |= process.disk_failed;
  if (!disk_failed) Flushes(found);
}

// Of this seed's runs alone: the folder holds everybody's.
void Checker::Rings() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    if (entry.path().extension() != ".ring") continue;
    const auto ring = format::RingFile::Open(entry.path(), {}, /*writable=*/false);
    format::RingHeader header;
    uint64_t chunks = 0;
    if (!ring.ok() || !ring->ReadHeader(&header, &chunks).ok()) continue;
    if (std::string(header.control.run_dir).rfind(dir_ + "/runs/", 0) != 0) continue;
    Say("a ring is left: %s", entry.path().c_str());
    fs::remove(entry.path(), error);
  }
}

int Checker::Run() {
  Findings();
  std::error_code error;
  std::set<uint32_t> runs;
  for (const auto& entry : fs::directory_iterator(dir_ + "/runs", error)) {
    runs.insert(static_cast<uint32_t>(atoi(entry.path().filename().c_str())));
  }
  for (const uint32_t run : runs) OneRun(run);
  Rings();
  printf("= %llu events found, %llu required, %llu told as lost, %zu runs, %zu threads\n",
         static_cast<unsigned long long>(kept_), static_cast<unsigned long long>(sure_),
         static_cast<unsigned long long>(dropped_), runs.size(), all_.files().size());
  return wrong_ != 0 ? 1 : 0;
}

}  // namespace

int Check(const std::string& dir) { return Checker(dir).Run(); }

}  // namespace crosscut::stress
