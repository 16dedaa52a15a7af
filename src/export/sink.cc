#include "src/export/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "src/base/descriptors.h"
#include "src/base/new_file.h"

namespace crosscut::exporting {
namespace {

namespace fs = std::filesystem;

Status Failed(const std::string& path) { return Status::Io(path + ": " + std::strerror(errno)); }

// Writes to a descriptor, which it closes.
class DescriptorSink : public Sink {
 public:
  DescriptorSink(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~DescriptorSink() override {
    if (fd_ >= 0) close(fd_);
  }

  Status Write(std::string_view bytes) override {
    if (unread_) return {};
    unread_ = !base::WriteAll(fd_, bytes);
    if (unread_ && errno != EPIPE) return Failed(path_);
    bytes_ += bytes.size();
    return {};
  }

  Status Close() override {
    const int failed = close(fd_);
    fd_ = -1;
    return failed == 0 ? Status() : Failed(path_);
  }

  uint64_t bytes() const override { return bytes_; }
  int Take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
  std::string path_;
  uint64_t bytes_ = 0;
  bool unread_ = false;
};

class FileSink : public Sink {
 public:
  explicit FileSink(base::NewFile file, bool durable = false)
      : file_(std::move(file)), durable_(durable) {}

  Status Write(std::string_view bytes) override {
    bytes_ += bytes.size();
    return file_.Write(bytes);
  }
  Status Close() override { return file_.Place(durable_); }
  uint64_t bytes() const override { return bytes_; }

 private:
  base::NewFile file_;
  bool durable_;
  uint64_t bytes_ = 0;
};

// Writes into the file that `fd` has opened, but not before Close: until then that may be read, and
// it stays what it was where the disk has no room.
class OverwritingSink : public Sink {
 public:
  OverwritingSink(int fd, std::string path, base::NewFile scratch)
      : fd_(fd), path_(std::move(path)), scratch_(std::move(scratch)) {}
  ~OverwritingSink() override { close(fd_); }

  Status Write(std::string_view bytes) override {
    bytes_ += bytes.size();
    return scratch_.Write(bytes).At(path_);
  }
  Status Close() override {
    const auto size = static_cast<off_t>(bytes_);
    const base::NoSignal no_limit(SIGXFSZ);
    struct stat before;
    if (fstat(fd_, &before) != 0) return Failed(path_);
    if (size > 0 && fallocate(fd_, 0, 0, size) != 0 && errno != EOPNOTSUPP) {
      const Status failed = Failed(path_);
      (void)ftruncate(fd_, before.st_size);
      return failed;
    }
    if (Status status = Copy(size); !status.ok()) return status;
    return ftruncate(fd_, size) == 0 ? Status() : Failed(path_);
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  Status Copy(off_t size) {
    std::vector<char> buffer(1 << 18);
    for (off_t at = 0; at < size;) {
      const ssize_t got = pread(scratch_.fd(), buffer.data(), buffer.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || !base::WriteAll(fd_, {buffer.data(), static_cast<size_t>(got)})) {
        return Failed(path_);
      }
      at += got;
    }
    return {};
  }

  int fd_;
  std::string path_;
  base::NewFile scratch_;
  uint64_t bytes_ = 0;
};

class GzipSink : public Sink {
 public:
  explicit GzipSink(std::unique_ptr<Sink> under) : under_(std::move(under)), buffer_(1 << 18) {
    constexpr int kGzip = 15 + 16, kLevel = 4;
    ready_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipSink() override {
    if (ready_) deflateEnd(&stream_);
  }

  Status Write(std::string_view bytes) override {
    constexpr size_t kMost = 1 << 30;
    for (; bytes.size() > kMost; bytes.remove_prefix(kMost)) {
      if (Status status = Deflate(bytes.substr(0, kMost), Z_NO_FLUSH); !status.ok()) return status;
    }
    return Deflate(bytes, Z_NO_FLUSH);
  }

  Status Close() override {
    if (Status status = Deflate({}, Z_FINISH); !status.ok()) return status;
    return under_->Close();
  }

  uint64_t bytes() const override { return under_->bytes(); }

 private:
  Status Deflate(std::string_view bytes, int flush) {
    if (!ready_) return Status::Limit("no memory to compress");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      const size_t made = buffer_.size() - stream_.avail_out;
      if (Status status = under_->Write({buffer_.data(), made}); !status.ok()) return status;
    } while (stream_.avail_out == 0);
    return {};
  }

  std::unique_ptr<Sink> under_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool ready_;
};

using Opened = Result<std::unique_ptr<Sink>>;

Opened InPlace(int fd, const std::string& path) {
  if (fd < 0) return Failed(path);
  return std::unique_ptr<Sink>(std::make_unique<DescriptorSink>(fd, path));
}

// The descriptor of this process that a path names, -1 for none. To open such a path again would
// begin at the file's first byte, in front of what others have written to it.
int NamedDescriptor(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  constexpr std::string_view kFolders[] = {"/dev/fd/", "/proc/self/fd/"};
  for (const std::string_view folder : kFolders) {
    if (!path.starts_with(folder)) continue;
    int fd = -1;
    const char* const end = path.data() + path.size();
    const auto number = std::from_chars(path.data() + folder.size(), end, fd);
    return number.ptr == end ? fd : -1;
  }
  return -1;
}

// The file that `fd` has opened, by the kernel's name for it; "" where that leads elsewhere.
std::string PlaceOf(int fd, const struct stat& facts) {
  std::error_code error;
  const std::string found = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  struct stat named;
  const bool same = lstat(found.c_str(), &named) == 0 && named.st_dev == facts.st_dev &&
                    named.st_ino == facts.st_ino;
  return same ? found : "";
}

// Whether somebody can tell a new file in its place from the old one with new content.
bool IsOneOfAKind(int fd, const struct stat& facts) {
  return facts.st_uid != geteuid() || facts.st_nlink != 1 ||
         fgetxattr(fd, "system.posix_acl_access", nullptr, 0) > 0;
}

// Beside `place` if it is known and its folder can be written, else where temporary files are.
Result<base::NewFile> ScratchFor(const std::string& place) {
  if (!place.empty()) {
    auto beside = base::NewFile::Scratch(base::FolderOf(place));
    if (beside.ok()) return beside;
  }
  const char* folder = std::getenv("TMPDIR");
  return base::NewFile::Scratch(folder != nullptr && *folder != '\0' ? folder : "/tmp");
}

// What is at `path` and open at `fd`.
Opened OpenPresent(int fd, const std::string& path) {
  auto there = std::make_unique<DescriptorSink>(fd, path);
  struct stat facts;
  if (fstat(fd, &facts) != 0) return Failed(path);
  if (!S_ISREG(facts.st_mode)) return std::unique_ptr<Sink>(std::move(there));
  const std::string place = PlaceOf(fd, facts);
  if (!place.empty() && !IsOneOfAKind(fd, facts)) {
    auto file = base::NewFile::For(place);
    if (file.ok()) return std::unique_ptr<Sink>(std::make_unique<FileSink>(std::move(*file)));
  }
  auto scratch = ScratchFor(place);
  if (!scratch.ok()) return scratch.status().At(path);
  return std::unique_ptr<Sink>(
      std::make_unique<OverwritingSink>(there->Take(), path, std::move(*scratch)));
}

// Where the link at `path`, which leads to no file, would have one made.
std::string EndOfLinks(std::string path) {
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::string leads = fs::read_symlink(path, error);
    if (leads.empty()) break;
    path = (leads.starts_with('/') ? "" : base::FolderOf(path)) + leads;
  }
  return path;
}

Opened OpenNamed(const std::string& path) {
  if (const int fd = NamedDescriptor(path); fd >= 0) {
    return InPlace(fcntl(fd, F_DUPFD_CLOEXEC, 3), path == "-" ? "stdout" : path);
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) return OpenPresent(fd, path);
  return errno == ENOENT ? OpenFileSink(EndOfLinks(path)) : Failed(path);
}

}  // namespace

Opened OpenFileSink(const std::string& path, bool durable) {
  auto file = base::NewFile::For(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(std::move(*file), durable));
}

Opened OpenSink(const std::string& path) {
  auto sink = OpenNamed(path);
  if (!sink.ok() || !path.ends_with(".gz")) return sink;
  return std::unique_ptr<Sink>(std::make_unique<GzipSink>(std::move(*sink)));
}

bool IsStandardOutput(const std::string& path) { return NamedDescriptor(path) == STDOUT_FILENO; }

}  // namespace crosscut::exporting
