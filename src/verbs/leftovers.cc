#include "src/verbs/leftovers.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "src/base/file.h"
#include "src/format/reap.h"
#include "src/format/ring_search.h"

namespace crosscut::verbs {
namespace {

constexpr int64_t kBeingMadeSeconds = 60;  // more than a ring needs from its name to its header

struct OneRing {
  std::string path, run_dir;
  uint64_t inode = 0, bytes = 0;
  format::RingHeader header = {};  // of one that has it
  base::Liveness owner = base::Liveness::kUnknown;
};

void Add(const OneRing& ring, RingCount* count) {
  ++count->rings;
  count->bytes += ring.bytes;
}

// Of a ring without a header: its process was killed when it had given the file its name and no
// more, or is just about to go on.
base::Liveness OwnerByName(const format::RingFile& file) {
  if (base::IsInUse(file.fd()) || time(nullptr) - file.written_s() < kBeingMadeSeconds) {
    return base::Liveness::kAlive;
  }
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  const size_t user = name.find('-');
  const size_t pid = user == std::string::npos ? user : name.find('-', user + 1);
  if (pid == std::string::npos) return base::Liveness::kDead;
  const int64_t number = strtoll(name.c_str() + pid + 1, nullptr, 10);
  return base::HasMapped(number, name) == base::Liveness::kAlive ? base::Liveness::kAlive
                                                                 : base::Liveness::kDead;
}

std::vector<OneRing> OwnRings(const std::string& folder) {
  std::vector<OneRing> found;
  for (const std::string& path : format::ListRings(folder)) {
    // Nothing is taken out of it here, so it matters not who else may write it.
    const auto file = format::RingFile::Open(path, {-1, /*in_run=*/true}, /*writable=*/false);
    if (!file.ok() || file->device() == 0) continue;
    OneRing ring;
    ring.path = path;
    ring.inode = file->inode();
    ring.bytes = file->disk_bytes();
    uint64_t chunks = 0;
    if (file->ReadHeader(&ring.header, &chunks).ok()) {
      ring.owner = file->Owner(ring.header);
      ring.run_dir = ring.header.control.run_dir;
    } else {
      ring.owner = OwnerByName(*file);
    }
    found.push_back(std::move(ring));
  }
  return found;
}

Leftovers Count(const std::vector<OneRing>& rings) {
  Leftovers count;
  for (const OneRing& ring : rings) {
    switch (ring.owner) {
      case base::Liveness::kDead: Add(ring, &count.ended); break;
      case base::Liveness::kAlive: Add(ring, &count.in_use); break;
      case base::Liveness::kUnknown: Add(ring, &count.unknown); break;
    }
  }
  return count;
}

bool IsThere(const OneRing& ring) {
  struct stat info;
  return lstat(ring.path.c_str(), &info) == 0 && info.st_ino == ring.inode;
}

bool HasRun(const OneRing& ring) {
  if (ring.run_dir.empty()) return false;
  const auto run = format::RunFolder::Of(ring.run_dir);
  return run.ok() && run->owner == geteuid() && format::IsRingOf(*run, ring.header);
}

}  // namespace

Leftovers CountLeftovers(const std::string& folder) { return Count(OwnRings(folder)); }

CleanedRings CleanLeftovers(const std::string& folder) {
  CleanedRings cleaned;
  std::map<std::string, std::string> runs;  // that were reaped: what went wrong
  for (const OneRing& ring : OwnRings(folder)) {
    if (ring.owner != base::Liveness::kDead) continue;
    if (HasRun(ring)) {
      auto [run, fresh] = runs.try_emplace(ring.run_dir);
      if (fresh) {
        const auto report = format::ReapRun(ring.run_dir);
        run->second = report.ok() ? "" : std::string(report.status().message());
        for (const auto& process :
             report.ok() ? report->processes : std::vector<format::ReapReport::Process>()) {
          if (!process.problem.empty()) run->second = process.problem;
        }
      }
      if (!IsThere(ring)) {
        Add(ring, &cleaned.emptied);
      } else {
        cleaned.problems.push_back(
            ring.path + ": " +
            (run->second.empty() ? "it does not belong to its run" : run->second));
      }
    } else if (!IsThere(ring)) {
      continue;
    } else if (unlink(ring.path.c_str()) == 0) {
      Add(ring, &cleaned.removed);
    } else if (errno != ENOENT) {
      cleaned.problems.push_back(ring.path + ": " + strerror(errno));
    }
  }
  cleaned.left = CountLeftovers(folder);
  return cleaned;
}

void RemoveRunsOfEnded(const std::string& prefix, const std::string& folder) {
  constexpr std::string_view kRun = "/run", kPlace = "XXXXXXXX/run";
  for (const OneRing& ring : OwnRings(folder)) {
    const std::string& run = ring.run_dir;
    if (ring.owner != base::Liveness::kDead || !IsThere(ring)) continue;
    if (run.size() != prefix.size() + kPlace.size() || !run.starts_with(prefix) ||
        !run.ends_with(kRun)) {
      continue;
    }
    const std::string made = run.substr(0, run.size() - kRun.size());
    struct stat info;
    std::error_code error;
    if (HasRun(ring) && lstat(made.c_str(), &info) == 0 && info.st_uid == geteuid()) {
      std::filesystem::remove_all(made, error);
    }
    unlink(ring.path.c_str());
  }
}

}  // namespace crosscut::verbs
