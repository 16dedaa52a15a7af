#include "src/format/ring_search.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/descriptors.h"
#include "src/base/file.h"
#include "src/format/run_json.h"

namespace crosscut::format {
namespace {

constexpr size_t kMaxRunJson = 1 << 20;

// The uid in it is the process's own view of itself, which a user namespace changes.
bool NameFits(const std::string& path, const RingHeader& header) {
  char end[64];
  snprintf(end, sizeof end, "-%lld-%llx.ring", static_cast<long long>(header.pid),
           static_cast<unsigned long long>(header.nonce));
  return path.ends_with(end);
}

// The header first, whoever may write the file: only a ring that names this run is told of.
void Take(const RunFolder& run, const std::string& path, const RingTrust& trust, RunRings* out) {
  const RingTrust whoever_writes = {trust.owner, /*in_run=*/true};
  const Result<RingFile> file = RingFile::Open(path, whoever_writes, /*writable=*/false);
  if (!file.ok()) return;
  RunRing ring = {path, trust, {}, file->device(), file->inode()};
  uint64_t chunks = 0;
  if (!file->ReadHeader(&ring.header, &chunks).ok()) return;
  if (!IsRingOf(run, ring.header)) return;
  const Result<RingFile> trusted = RingFile::Open(path, trust, /*writable=*/false);
  if (!trusted.ok()) {
    out->refused.emplace_back(trusted.status().message());
  } else if (!NameFits(path, ring.header)) {
    out->refused.push_back(path + ": its header is another ring's");
  } else {
    out->rings.push_back(std::move(ring));
  }
}

}  // namespace

Result<RunFolder> RunFolder::Of(const std::string& dir) {
  const int fd = open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Status::NotFound(dir + ": no such directory");
  RunFolder run = Of(fd);
  close(fd);
  run.dir = dir;
  Result<std::string> json = base::ReadSmallFile(dir + "/run.json", kMaxRunJson);
  if (json.ok()) run.run_json = std::move(*json);
  if (json.status().code() != Status::Code::kNotFound) run.unread = json.status();
  return run;
}

RunFolder RunFolder::Of(int fd) {
  RunFolder run;
  struct stat info;
  if (fstat(fd, &info) != 0) return run;
  run.device = info.st_dev;
  run.inode = info.st_ino;
  run.made_ns = base::MadeNs(fd);
  run.owner = info.st_uid;
  return run;
}

bool IsRingOf(const RunFolder& run, const RingHeader& ring) {
  return ring.run_device == run.device && ring.run_inode == run.inode &&
         (ring.run_made_ns == run.made_ns || ring.run_made_ns == 0 || run.made_ns == 0);
}

RunRings FindRings(const RunFolder& run) {
  std::vector<std::string> dirs;
  if (!run.dir.empty()) dirs.push_back(run.dir);
  for (const std::string& more :
       {JsonStringMember(run.run_json, "ring_dir"), std::string("/dev/shm")}) {
    if (!more.empty() && std::find(dirs.begin(), dirs.end(), more) == dirs.end()) {
      dirs.push_back(more);
    }
  }
  RunRings found;
  for (const std::string& dir : dirs) {
    const RingTrust trust = {run.owner, dir == run.dir};
    for (const std::string& path : ListRings(dir, run.owner)) Take(run, path, trust, &found);
  }
  return found;
}

}  // namespace crosscut::format
