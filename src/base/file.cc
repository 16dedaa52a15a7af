#include "src/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace crosscut::base {
namespace {

std::string ErrnoText(const std::string& name, const char* what, int error) {
  char buffer[128];
  const char* text = strerror_r(error, buffer, sizeof buffer);
  return name + ": " + what + ": " + text;
}

int OpenIn(int folder, const std::string& path, int flags) {
  if (folder < 0) return open(path.c_str(), flags, 0600);
  return openat(folder, path.c_str() + path.rfind('/') + 1, flags, 0600);
}

class PosixFile : public File {
 public:
  PosixFile(int fd, uint64_t size, std::string name)
      : fd_(fd), size_(size), name_(std::move(name)) {}
  ~PosixFile() override { close(fd_); }

  Status Append(std::span<const std::byte> bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Status::Io(ErrnoText(name_, "write", n < 0 ? errno : ENOSPC));
      done += static_cast<size_t>(n);
      size_ += static_cast<uint64_t>(n);
    }
    return {};
  }

  Status Truncate(uint64_t size) override {
    if (size > size_) return Status::Invalid(name_ + ": would grow");
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      return Status::Io(ErrnoText(name_, "truncate", errno));
    }
    if (lseek(fd_, static_cast<off_t>(size), SEEK_SET) < 0) {
      return Status::Io(ErrnoText(name_, "seek", errno));
    }
    size_ = size;
    return {};
  }

  Status Sync() override {
    if (fdatasync(fd_) == 0 || errno == EINVAL || errno == EROFS) return {};
    return Status::Io(ErrnoText(name_, "sync", errno));
  }

  Status ReadAt(uint64_t offset, std::span<std::byte> bytes) const override {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n =
          pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::Io(ErrnoText(name_, "read", errno));
      if (n == 0) return Status::Io(name_ + ": read past the end");
      done += static_cast<size_t>(n);
    }
    return {};
  }

  uint64_t size() const override { return size_; }

 private:
  int fd_;
  uint64_t size_;
  std::string name_;
};

int OpenFlags(OpenMode mode) {
  const int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  switch (mode) {
    case OpenMode::kRead: return always | O_RDONLY;
    case OpenMode::kCreateNew: return always | O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::kAppend:
    case OpenMode::kAppendAnything: return always | O_RDWR;
  }
  return always | O_RDONLY;
}

}  // namespace

Result<std::unique_ptr<File>> OpenFile(const std::string& path, OpenMode mode, int folder) {
  const int fd = OpenIn(folder, path, OpenFlags(mode));
  if (fd < 0) {
    const int error = errno;
    const std::string text = ErrnoText(path, "open", error);
    return error == ENOENT ? Status::NotFound(text) : Status::Io(text);
  }
  struct stat info;
  if (fstat(fd, &info) != 0 || (!S_ISREG(info.st_mode) && mode != OpenMode::kAppendAnything)) {
    close(fd);
    return Status::Invalid(path + ": not a regular file");
  }
  return AdoptFile(fd, path);
}

std::unique_ptr<File> AdoptFile(int fd, std::string name) {
  struct stat info;
  uint64_t size = 0;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    size = static_cast<uint64_t>(info.st_size);
    if (lseek(fd, 0, SEEK_END) < 0) size = 0;
  }
  return std::make_unique<PosixFile>(fd, size, std::move(name));
}

Result<std::string> ReadSmallFile(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const std::string text = ErrnoText(path, "open", error);
    return error == ENOENT ? Status::NotFound(text) : Status::Io(text);
  }
  std::string text;
  Status status;
  char buffer[16384];
  while (status.ok()) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = Status::Io(ErrnoText(path, "read", errno));
    if (n <= 0) break;
    if (text.size() + static_cast<size_t>(n) > limit) {
      status = Status::Limit(path + ": larger than expected");
    } else {
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  if (!status.ok()) return status;
  return text;
}

Result<std::vector<std::string>> NamesIn(const std::string& folder, size_t most) {
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return Status::Io(folder + ": " + strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = names.size() < most ? readdir(open) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

bool MarkInUse(int fd) {
  struct flock first_byte = {F_WRLCK, SEEK_SET, 0, 1, 0};
  return fcntl(fd, F_OFD_SETLK, &first_byte) == 0;
}

bool IsInUse(int fd) {
  struct flock first_byte = {F_WRLCK, SEEK_SET, 0, 1, 0};
  return fcntl(fd, F_OFD_GETLK, &first_byte) == 0 && first_byte.l_type != F_UNLCK;
}

Result<FileLock> FileLock::Take(const std::string& path, int wait_ms, int folder) {
  const int fd = OpenIn(folder, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return Status::Io(ErrnoText(path, "open", errno));
  for (int waited = 0;; waited += 5) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return FileLock(fd);
    if (errno != EWOULDBLOCK && errno != EINTR) {
      const std::string text = ErrnoText(path, "lock", errno);
      close(fd);
      return Status::Io(text);
    }
    if (waited >= wait_ms) break;
    timespec wait = {0, 5000000};
    nanosleep(&wait, nullptr);
  }
  close(fd);
  return Status::Limit(path + ": locked by another process");
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace crosscut::base
