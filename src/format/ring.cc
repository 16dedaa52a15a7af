#include "src/format/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace crosscut::format {
namespace {

constexpr uint64_t kMaxRingChunks = uint64_t{1} << 20;  // 64 GiB

Status SystemError(const std::string& path, const char* what) {
  const int error = errno;
  char buffer[128];
  const std::string text = path + ": " + what + ": " + strerror_r(error, buffer, sizeof buffer);
  return error == ENOENT ? Status::NotFound(text) : Status::Io(text);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool ReadFully(int fd, uint64_t offset, void* out, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        pread(fd, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

Status CheckFile(const std::string& path, int fd, struct stat* info) {
  if (fstat(fd, info) != 0) return SystemError(path, "stat");
  if (!S_ISREG(info->st_mode)) return Status::Corrupt(path + ": not a regular file");
  if (info->st_uid != geteuid() && geteuid() != 0) {
    return Status::Invalid(path + ": belongs to another user");
  }
  if (info->st_size < static_cast<off_t>(kRingHeaderBytes)) {
    return Status::Corrupt(path + ": shorter than a ring's header");
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

base::Liveness OwnerOf(const RingHeader& header, const std::string& path) {
  const base::ProcessIdentity owner = {header.pid, header.pid_start, header.pid_namespace,
                                       header.boot};
  const base::Liveness alive = base::LookUp(owner);
  if (alive != base::Liveness::kAlive) return alive;
  return base::HasMapped(header.pid, BaseName(path)) == base::Liveness::kDead
             ? base::Liveness::kDead
             : base::Liveness::kAlive;
}

// Copies chunks out of an open ring. Two copies are taken: a word that the first has is published,
// and what it needs stands in the second, however the kernel orders its copying.
class ChunkCopier {
 public:
  ChunkCopier(int fd, RingSnapshot* out)
      : fd_(fd), out_(out), first_(kRingChunkWords), second_(kRingChunkWords) {}

  void Copy(uint64_t index, bool session) {
    const uint64_t offset = kRingHeaderBytes + index * kRingChunkBytes;
    uint64_t head[kRingChunkHeaderWords];
    if (!ReadFully(fd_, offset, head, sizeof head)) return;
    const uint64_t state = head[kChunkState];
    const uint64_t fill = ChunkFill(state);
    if (ChunkState(state) != kChunkActive && ChunkState(state) != kChunkFull) return;
    if (fill == 0 || fill < RingLoad(out_->header.first_fill)) return;
    if ((head[kChunkTrack] == 0) != session) return;
    if (!ReadFully(fd_, offset, first_.data(), kRingChunkBytes)) return;
    if (!ReadFully(fd_, offset, second_.data(), kRingChunkBytes)) return;
    uint64_t after;
    if (!ReadFully(fd_, offset, &after, sizeof after)) return;
    if (ChunkFill(first_[kChunkState]) != fill || ChunkFill(after) != fill ||
        ChunkState(after) == kChunkFree || ChunkState(after) == kChunkClean) {
      ++out_->changed;
      return;
    }
    Take(index, fill);
  }

 private:
  void Take(uint64_t index, uint64_t fill) {
    size_t end = kRingChunkHeaderWords;
    const std::span<const uint64_t> words(second_);
    while (end < words.size() && first_[end] != 0) {
      const size_t length = EventLength(words, end);
      if (length == 0) break;
      end += length;
    }
    RingChunkCopy copy;
    copy.index = index;
    copy.fill = fill;
    copy.base_tick = second_[kChunkBaseTick];
    copy.track = static_cast<uint32_t>(second_[kChunkTrack]);
    copy.active = ChunkState(second_[kChunkState]) == kChunkActive;
    copy.damaged = end < words.size() && first_[end] != 0 && first_[end] == second_[end];
    copy.words.assign(second_.begin() + kRingChunkHeaderWords, second_.begin() + end);
    if (!copy.words.empty() || copy.damaged) out_->chunks.push_back(std::move(copy));
  }

  int fd_;
  RingSnapshot* out_;
  std::vector<uint64_t> first_, second_;
};

Result<RingSnapshot> ReadOnce(const std::string& path, bool chunks_too) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0) return SystemError(path, "open");
  struct stat info;
  if (Status status = CheckFile(path, fd.get(), &info); !status.ok()) return status;
  RingSnapshot snapshot;
  snapshot.path = path;
  snapshot.device = info.st_dev;
  snapshot.inode = info.st_ino;
  RingHeader& header = snapshot.header;
  if (!ReadFully(fd.get(), 0, &header, sizeof header)) return SystemError(path, "read");
  uint64_t count = 0;
  if (Status status = CheckHeader(path, header, info.st_size, &count); !status.ok()) return status;
  snapshot.missing_chunks = header.chunk_count - count;
  header.log_name[sizeof header.log_name - 1] = '\0';
  header.last_plugin[sizeof header.last_plugin - 1] = '\0';
  snapshot.owner = OwnerOf(header, path);
  if (!chunks_too) return snapshot;
  ChunkCopier copier(fd.get(), &snapshot);
  for (uint64_t i = 0; i < count; ++i) copier.Copy(i, false);
  // Session chunks last: whatever name an event above uses was published before it.
  for (uint64_t i = 0; i < count; ++i) copier.Copy(i, true);
  std::sort(snapshot.chunks.begin(), snapshot.chunks.end(),
            [](const RingChunkCopy& a, const RingChunkCopy& b) { return a.fill < b.fill; });
  std::vector<RingDropSlot> slots(kRingDropSlots);
  if (!ReadFully(fd.get(), kRingPageBytes, slots.data(), slots.size() * sizeof slots[0])) {
    return SystemError(path, "read");
  }
  for (const RingDropSlot& slot : slots) {
    if (slot.track != 0 && slot.count != 0) snapshot.drops.push_back(slot);
  }
  RingHeader after;
  if (!ReadFully(fd.get(), 0, &after, sizeof after)) return SystemError(path, "read");
  if (after.nonce != header.nonce) return Status::Limit(path + ": another session began");
  return snapshot;
}

}  // namespace

size_t PublishedEnd(const uint64_t* words, size_t from) {
  const std::span<const uint64_t> chunk(words, kRingChunkWords);
  size_t at = from;
  while (at < kRingChunkWords) {
    const uint64_t word = RingLoad(words[at]);
    if (word == 0) break;
    const size_t length = EventLength(chunk, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

Result<RingMapping> RingMapping::Open(const std::string& path, bool writable) {
  const int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor fd(open(path.c_str(), flags));
  if (fd.get() < 0) return SystemError(path, "open");
  struct stat info;
  if (Status status = CheckFile(path, fd.get(), &info); !status.ok()) return status;
  RingHeader header;
  if (!ReadFully(fd.get(), 0, &header, sizeof header)) return SystemError(path, "read");
  uint64_t chunks = 0;
  if (Status status = CheckHeader(path, header, info.st_size, &chunks); !status.ok()) return status;
  const size_t bytes = kRingHeaderBytes + chunks * kRingChunkBytes;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base = mmap(nullptr, bytes, protection, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return SystemError(path, "map");
  return RingMapping(static_cast<char*>(base), bytes, chunks);
}

RingMapping::RingMapping(RingMapping&& other) noexcept
    : base_(other.base_), bytes_(other.bytes_), chunk_count_(other.chunk_count_) {
  other.base_ = nullptr;
}

RingMapping::~RingMapping() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

std::span<RingDropSlot> RingMapping::drops() const {
  return {reinterpret_cast<RingDropSlot*>(base_ + kRingPageBytes), kRingDropSlots};
}

Result<RingSnapshot> RingSnapshot::Read(const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    Result<RingSnapshot> snapshot = ReadOnce(path, true);
    if (snapshot.ok() || snapshot.status().code() != Status::Code::kLimit || attempt == 3) {
      return snapshot;
    }
  }
}

Result<RingSnapshot> RingSnapshot::ReadHeader(const std::string& path) {
  return ReadOnce(path, false);
}

std::vector<std::string> FindRings(const std::string& dir) {
  std::vector<std::string> found;
  char prefix[48];
  snprintf(prefix, sizeof prefix, "crosscut-%u-", static_cast<unsigned>(geteuid()));
  DIR* handle = opendir(dir.c_str());
  if (handle == nullptr) return found;
  while (const dirent* entry = readdir(handle)) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(".ring") || !name.starts_with("crosscut-")) continue;
    if (geteuid() == 0 || name.starts_with(prefix)) found.push_back(dir + "/" + entry->d_name);
  }
  closedir(handle);
  std::sort(found.begin(), found.end());
  return found;
}

std::string RingPath(const std::string& dir, int64_t pid, uint64_t nonce) {
  char name[96];
  snprintf(name, sizeof name, "/crosscut-%u-%lld-%llx.ring", static_cast<unsigned>(geteuid()),
           static_cast<long long>(pid), static_cast<unsigned long long>(nonce));
  return dir + name;
}

}  // namespace crosscut::format
