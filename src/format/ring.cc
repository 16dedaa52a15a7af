#include "src/format/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/file.h"
#include "src/format/chunk_copy.h"

namespace crosscut::format {
namespace {

constexpr uint64_t kMaxRingChunks = uint64_t{1} << 20;  // 64 GiB

Status SystemError(const std::string& path, const char* what) {
  const int error = errno;
  char buffer[128];
  const std::string text = path + ": " + what + ": " + strerror_r(error, buffer, sizeof buffer);
  return error == ENOENT ? Status::NotFound(text) : Status::Io(text);
}

Status CheckFile(const std::string& path, const struct stat& info, const RingTrust& trust) {
  if (!S_ISREG(info.st_mode)) return Status::Corrupt(path + ": not a regular file");
  if (info.st_uid != geteuid() && info.st_uid != trust.owner) {
    return Status::Invalid(path + ": belongs to another user");
  }
  if (!trust.in_run && (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status::Invalid(path + ": other users may write it");
  }
  return {};
}

Status CheckHeader(const std::string& path, const RingHeader& header, uint64_t bytes,
                   uint64_t* chunks) {
  if (header.magic != kRingMagic) return Status::Corrupt(path + ": not a ring, or never begun");
  if (header.version != kFormatVersion) return Status::Corrupt(path + ": unknown ring version");
  if (header.header_bytes != kRingHeaderBytes) {
    return Status::Corrupt(path + ": unknown header size");
  }
  if (header.chunk_count > kMaxRingChunks) return Status::Corrupt(path + ": chunk count");
  if (header.nonce == 0) return Status::Corrupt(path + ": no nonce");
  const uint64_t room = (bytes - kRingHeaderBytes) / kRingChunkBytes;
  *chunks = std::min(header.chunk_count, room);
  return {};
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Copies chunks out of an open ring: chunk_copy.h.
class ChunkCopier {
 public:
  ChunkCopier(const RingFile& file, RingSnapshot* out)
      : file_(file), out_(out), first_(kRingChunkWords), second_(kRingChunkWords) {}

  void Copy(uint64_t index, bool session) {
    const uint64_t offset = kRingHeaderBytes + index * kRingChunkBytes;
    const auto read = [&](std::span<uint64_t> to) {
      return file_.Read(offset, to.data(), to.size_bytes());
    };
    const auto wanted = [&](std::span<const uint64_t> head) {
      return ChunkFill(head[kChunkState]) >= RingLoad(out_->header.first_fill) &&
             (head[kChunkTrack] == 0) == session;
    };
    switch (CopyChunk(read, wanted, first_, second_)) {
      case ChunkCopied::kNot: return;
      case ChunkCopied::kChanged: ++out_->changed; return;
      case ChunkCopied::kWhole: return Take(index);
    }
  }

 private:
  void Take(uint64_t index) {
    const size_t end = CopiedEnd(first_, second_);
    RingChunkCopy copy;
    copy.index = index;
    copy.fill = ChunkFill(second_[kChunkState]);
    copy.base_tick = second_[kChunkBaseTick];
    copy.track = static_cast<uint32_t>(second_[kChunkTrack]);
    copy.damaged = end < second_.size() && first_[end] != 0 && first_[end] == second_[end];
    copy.words.assign(second_.begin() + kRingChunkHeaderWords, second_.begin() + end);
    if (!copy.words.empty() || copy.damaged) out_->chunks.push_back(std::move(copy));
  }

  const RingFile& file_;
  RingSnapshot* out_;
  std::vector<uint64_t> first_, second_;
};

struct Session {
  base::Liveness owner = base::Liveness::kUnknown;
  uint64_t nonce = 0;
};

Result<Session> SessionOf(const std::string& path, const RingTrust& trust) {
  const Result<RingFile> file = RingFile::Open(path, trust, /*writable=*/false);
  if (!file.ok()) return file.status();
  RingHeader header;
  uint64_t count = 0;
  if (Status status = file->ReadHeader(&header, &count); !status.ok()) return status;
  return Session{file->Owner(header), header.nonce};
}

// Whether the owner lives is asked first, and everything read anew behind that: what a process
// wrote before it was found dead is all here then. A header from before may lack its last chunks
// and how it ended.
Result<RingSnapshot> ReadOnce(const std::string& path, const RingTrust& trust) {
  const Result<Session> session = SessionOf(path, trust);
  if (!session.ok()) return session.status();
  const Result<RingFile> file = RingFile::Open(path, trust, /*writable=*/false);
  if (!file.ok()) return file.status();
  RingSnapshot snapshot;
  snapshot.path = path;
  snapshot.device = file->device();
  snapshot.inode = file->inode();
  RingHeader& header = snapshot.header;
  uint64_t count = 0;
  if (Status status = file->ReadHeader(&header, &count); !status.ok()) return status;
  if (header.nonce != session->nonce) return Status::Limit(path + ": another session began");
  snapshot.owner = session->owner;
  snapshot.missing_chunks = header.chunk_count - count;
  ChunkCopier copier(*file, &snapshot);
  for (uint64_t i = 0; i < count; ++i) copier.Copy(i, false);
  // Session chunks last: whatever name an event above uses was published before it.
  for (uint64_t i = 0; i < count; ++i) copier.Copy(i, true);
  std::sort(snapshot.chunks.begin(), snapshot.chunks.end(),
            [](const RingChunkCopy& a, const RingChunkCopy& b) { return a.fill < b.fill; });
  std::vector<RingDropSlot> slots(kRingDropSlots);
  if (!file->Read(kRingPageBytes, slots.data(), slots.size() * sizeof slots[0])) {
    return SystemError(path, "read");
  }
  for (const RingDropSlot& slot : slots) {
    if (slot.track != 0 && slot.count != 0) snapshot.drops.push_back(slot);
  }
  RingHeader after;
  if (!file->Read(0, &after, sizeof after)) return SystemError(path, "read");
  if (after.nonce != header.nonce) return Status::Limit(path + ": another session began");
  return snapshot;
}

}  // namespace

Result<RingFile> RingFile::Open(const std::string& path, const RingTrust& trust, bool writable) {
  const int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  RingFile file(open(path.c_str(), flags), path);
  if (file.fd_ < 0) return SystemError(path, "open");
  struct stat info;
  if (fstat(file.fd_, &info) != 0) return SystemError(path, "stat");
  if (Status status = CheckFile(path, info, trust); !status.ok()) return status;
  file.device_ = info.st_dev;
  file.inode_ = info.st_ino;
  file.bytes_ = static_cast<uint64_t>(info.st_size);
  file.disk_bytes_ = static_cast<uint64_t>(info.st_blocks) * 512;
  file.written_s_ = info.st_mtim.tv_sec;
  return file;
}

RingFile::RingFile(RingFile&& other) noexcept
    : fd_(other.fd_),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_),
      bytes_(other.bytes_),
      disk_bytes_(other.disk_bytes_),
      written_s_(other.written_s_) {
  other.fd_ = -1;
}

RingFile::~RingFile() {
  if (fd_ >= 0) close(fd_);
}

bool RingFile::Read(uint64_t offset, void* out, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        pread(fd_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

Status RingFile::ReadHeader(RingHeader* header, uint64_t* chunks) const {
  if (bytes_ < kRingHeaderBytes) return Status::Corrupt(path_ + ": shorter than a ring's header");
  if (!Read(0, header, sizeof *header)) return SystemError(path_, "read");
  header->log_name[sizeof header->log_name - 1] = '\0';
  header->last_plugin[sizeof header->last_plugin - 1] = '\0';
  header->control.run_dir[sizeof header->control.run_dir - 1] = '\0';
  return CheckHeader(path_, *header, bytes_, chunks);
}

// A pid and its start time tell for certain in this pid namespace alone; the mark tells in all, but
// a child that was forked while the ring was made may bear it on.
base::Liveness RingFile::Owner(const RingHeader& header) const {
  const base::ProcessIdentity owner = {header.pid, header.pid_start, header.pid_namespace,
                                       header.boot};
  const base::Liveness by_pid = base::LookUp(owner);
  const bool marks = RingLoad(header.marks_use) != 0;
  if (by_pid == base::Liveness::kDead && (owner.pid_namespace != 0 || !marks)) return by_pid;
  if (marks && base::IsInUse(fd_)) return base::Liveness::kAlive;
  if (by_pid != base::Liveness::kAlive) return marks ? base::Liveness::kDead : by_pid;
  const base::Liveness mapped = base::HasMapped(header.pid, BaseName(path_));
  return mapped == base::Liveness::kDead ? mapped : by_pid;
}

Result<RingSnapshot> RingSnapshot::Read(const std::string& path, const RingTrust& trust) {
  for (int attempt = 0;; ++attempt) {
    Result<RingSnapshot> snapshot = ReadOnce(path, trust);
    if (snapshot.ok() || snapshot.status().code() != Status::Code::kLimit || attempt == 3) {
      return snapshot;
    }
  }
}

std::vector<std::string> ListRings(const std::string& dir, int64_t owner) {
  std::vector<std::string> found;
  const auto names = base::NamesIn(dir);
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    if (!name.ends_with(".ring") || !name.starts_with("crosscut-")) continue;
    struct stat info;
    const std::string path = dir + "/" + name;
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_uid == geteuid() || info.st_uid == owner) found.push_back(path);
  }
  return found;
}

std::string RingPath(const std::string& dir, int64_t pid, uint64_t nonce) {
  char name[96];
  snprintf(name, sizeof name, "/crosscut-%u-%lld-%llx.ring", static_cast<unsigned>(geteuid()),
           static_cast<long long>(pid), static_cast<unsigned long long>(nonce));
  return dir + name;
}

}  // namespace crosscut::format
