// Append-only files as the log writer sees them. No exceptions. One thread at a time per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::base {

class File {
 public:
  virtual ~File() = default;
  // Appends all of `bytes` at the end. If the device fails, the status says why, and size() has
  // grown by what it took before.
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  // Makes the file `size` bytes long; `size` is at most its present size.
  virtual Status Truncate(uint64_t size) = 0;
  // Returns when the file is on stable storage.
  virtual Status Sync() = 0;
  // Reads exactly `bytes.size()` bytes from `offset`; kIo past the end.
  virtual Status ReadAt(uint64_t offset, std::span<std::byte> bytes) const = 0;
  virtual uint64_t size() const = 0;
};

// What a file is opened for. In all modes: O_CLOEXEC | O_NOFOLLOW; only regular files except with
// kAppendAnything; new files get mode 0600.
enum class OpenMode {
  kRead,
  kCreateNew,       // fails where the name exists
  kAppend,          // an existing file, read and written
  kAppendAnything,  // also a device (/dev/full): for tests
};

// An error names `path` and the system's error. `folder`: the folder of `path`, open, for who must
// not write into another that has taken its place; -1: whatever `path` leads to.
Result<std::unique_ptr<File>> OpenFile(const std::string& path, OpenMode mode, int folder = -1);

// Takes the descriptor, which must be open for reading and writing, and closes it at the end.
std::unique_ptr<File> AdoptFile(int fd, std::string name);

// The whole of a small file of at most `limit` bytes, also in /proc.
Result<std::string> ReadSmallFile(const std::string& path, size_t limit);

// The names in a folder, sorted, but for "." and ".."; no more than `most` are read. An error names
// the folder and the system's error.
Result<std::vector<std::string>> NamesIn(const std::string& folder, size_t most = SIZE_MAX);

// Marks the file that `fd` opened for writing as in use. The kernel removes the mark when the last
// descriptor of this opening is closed, however its process ends, and shows it in every pid
// namespace. It is a lock of an open file description, of another kind than FileLock's. False where
// the file system has no such locks, or another opening has the mark.
bool MarkInUse(int fd);
// Whether another opening of this file has the mark. `fd`: opened for anything.
bool IsInUse(int fd);

// Holds an advisory lock (flock) on `path`, created 0600 if absent, until destroyed. The kernel
// drops it when the process dies.
class FileLock {
 public:
  // Waits at most `wait_ms` for another holder; kLimit then. `folder`: as for OpenFile.
  static Result<FileLock> Take(const std::string& path, int wait_ms, int folder = -1);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace crosscut::base
