#include "src/verbs/recording/ring_watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "src/format/reap.h"
#include "src/format/ring_search.h"

namespace crosscut::verbs {
namespace {

bool Ended(const format::RunRing& ring) {
  const auto file = format::RingFile::Open(ring.path, ring.trust, /*writable=*/false);
  return file.ok() && file->inode() == ring.inode &&
         file->Owner(ring.header) == base::Liveness::kDead;
}

}  // namespace

void RingWatch::Look(int wait_ms) {
  const std::string place = PlaceOfRun(run_dir_, folder_);
  const auto run = format::RunFolder::Of(place);
  if (!run.ok() || run->owner != geteuid()) return;
  std::set<std::pair<uint64_t, uint64_t>> ended;
  for (const format::RunRing& ring : format::FindRings(*run).rings) {
    const std::pair<uint64_t, uint64_t> number = {ring.device, ring.inode};
    if (!known_.contains(number) && Ended(ring)) ended.insert(number);
  }
  if (ended.empty()) return;
  const auto report = format::ReapRun(place, wait_ms);
  if (!report.ok() && report.status().code() == Status::Code::kLimit) return;
  known_.merge(ended);
}

std::string PlaceOfRun(const std::string& run_dir, int folder) {
  struct stat named, opened;
  if (folder < 0 || fstat(folder, &opened) != 0 || opened.st_nlink == 0) return run_dir;
  if (stat(run_dir.c_str(), &named) == 0 && named.st_dev == opened.st_dev &&
      named.st_ino == opened.st_ino) {
    return run_dir;
  }
  std::error_code error;
  const auto place =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(folder), error);
  return error ? run_dir : place.string();
}

bool RemoveRingsOfRemovedRun(int folder) {
  struct stat info;
  if (folder < 0 || fstat(folder, &info) != 0 || info.st_nlink != 0) return false;
  // While it is open, its numbers are no other directory's.
  for (const format::RunRing& ring : format::FindRings(format::RunFolder::Of(folder)).rings) {
    unlink(ring.path.c_str());
  }
  return true;
}

}  // namespace crosscut::verbs
