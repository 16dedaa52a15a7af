#include "src/export/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

namespace crosscut::exporting {
namespace {

Status Failed(const std::string& path) { return Status::Io(path + ": " + std::strerror(errno)); }

// Writes to a descriptor, which it closes.
class DescriptorSink : public Sink {
 public:
  DescriptorSink(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~DescriptorSink() override {
    if (fd_ >= 0) close(fd_);
  }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty() && !unread_) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EPIPE) unread_ = true;
      if (n < 0 && errno != EINTR && errno != EPIPE) return Failed(path_);
      if (n > 0) bytes_ += static_cast<uint64_t>(n);
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

  Status Close() override {
    const int failed = close(fd_);
    fd_ = -1;
    return failed == 0 ? Status() : Failed(path_);
  }

  uint64_t bytes() const override { return bytes_; }

 private:
  int fd_;
  std::string path_;
  uint64_t bytes_ = 0;
  bool unread_ = false;
};

// Writes a file beside `path`, which takes its place at Close.
class FileSink : public Sink {
 public:
  FileSink(int fd, std::string path, std::string part)
      : file_(fd, path), path_(std::move(path)), part_(std::move(part)) {}
  ~FileSink() override {
    if (!placed_) unlink(part_.c_str());
  }

  Status Write(std::string_view bytes) override { return file_.Write(bytes); }

  Status Close() override {
    if (Status status = file_.Close(); !status.ok()) return status;
    if (rename(part_.c_str(), path_.c_str()) != 0) return Failed(path_);
    placed_ = true;
    return {};
  }

  uint64_t bytes() const override { return file_.bytes(); }

 private:
  DescriptorSink file_;
  std::string path_, part_;
  bool placed_ = false;
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

class StringSink : public Sink {
 public:
  explicit StringSink(std::string* out) : out_(out) {}
  Status Write(std::string_view bytes) override {
    out_->append(bytes);
    return {};
  }
  Status Close() override { return {}; }
  uint64_t bytes() const override { return out_->size(); }

 private:
  std::string* out_;
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

// A file beside `path`; `mode` as the umask leaves it.
int OpenPart(const std::string& path, std::string* part, mode_t mode) {
  *part = path + ".part-" + std::to_string(getpid());
  return open(part->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
}

// The file that `fd` has opened, by the kernel's name for it; "" where that leads elsewhere.
std::string PlaceOf(int fd, const struct stat& facts) {
  char place[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), place, sizeof place);
  const std::string found(place, length > 0 ? static_cast<size_t>(length) : 0);
  struct stat named;
  const bool same = lstat(found.c_str(), &named) == 0 && named.st_dev == facts.st_dev &&
                    named.st_ino == facts.st_ino;
  return same ? found : "";
}

// What is at `path` and open at `fd` is written: by a new file where nobody can tell.
Opened OpenPresent(int fd, const std::string& path) {
  auto file = std::make_unique<DescriptorSink>(fd, path);
  struct stat facts;
  if (fstat(fd, &facts) != 0) return Failed(path);
  if (S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && facts.st_nlink == 1) {
    const std::string place = PlaceOf(fd, facts);
    std::string part;
    const int whole = place.empty() ? -1 : OpenPart(place, &part, 0600);
    if (whole >= 0) {
      (void)fchmod(whole, facts.st_mode & 0777);
      return std::unique_ptr<Sink>(std::make_unique<FileSink>(whole, place, std::move(part)));
    }
  }
  if (S_ISREG(facts.st_mode) && ftruncate(fd, 0) != 0) return Failed(path);
  return std::unique_ptr<Sink>(std::move(file));
}

Opened OpenNamed(const std::string& path) {
  if (const int fd = NamedDescriptor(path); fd >= 0) {
    return InPlace(fcntl(fd, F_DUPFD_CLOEXEC, 3), path);
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) return OpenPresent(fd, path);
  if (errno != ENOENT) return Failed(path);
  struct stat link;
  if (lstat(path.c_str(), &link) != 0) return OpenFileSink(path);
  return InPlace(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), path);
}

}  // namespace

Opened OpenFileSink(const std::string& path) {
  std::string part;
  const int fd = OpenPart(path, &part, 0644);
  if (fd < 0) return Failed(path);
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(fd, path, std::move(part)));
}

Opened OpenSink(const std::string& path) {
  auto sink = OpenNamed(path);
  if (!sink.ok() || !path.ends_with(".gz")) return sink;
  return std::unique_ptr<Sink>(std::make_unique<GzipSink>(std::move(*sink)));
}

bool IsStandardOutput(const std::string& path) { return NamedDescriptor(path) == STDOUT_FILENO; }

std::unique_ptr<Sink> MemorySink(std::string* out) { return std::make_unique<StringSink>(out); }

}  // namespace crosscut::exporting
