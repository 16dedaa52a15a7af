#include "src/export/sink.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace crosscut::exporting {
namespace {

class FileSink : public Sink {
 public:
  FileSink(int fd, std::string path, std::string part)
      : fd_(fd), path_(std::move(path)), part_(std::move(part)) {}
  ~FileSink() override {
    if (fd_ >= 0) close(fd_);
    if (!placed_) unlink(part_.c_str());
  }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno != EINTR) return Status::Io(path_ + ": " + std::strerror(errno));
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

  Status Close() override {
    const int failed = close(fd_);
    fd_ = -1;
    if (failed != 0 || rename(part_.c_str(), path_.c_str()) != 0) {
      return Status::Io(path_ + ": " + std::strerror(errno));
    }
    placed_ = true;
    return {};
  }

 private:
  int fd_;
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

 private:
  std::string* out_;
};

}  // namespace

Result<std::unique_ptr<Sink>> OpenFileSink(const std::string& path) {
  std::string part = path + ".part-" + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return Status::Io(path + ": " + std::strerror(errno));
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(fd, path, std::move(part)));
}

Result<std::unique_ptr<Sink>> OpenSink(const std::string& path) {
  auto sink = OpenFileSink(path);
  if (!sink.ok() || !path.ends_with(".gz")) return sink;
  return std::unique_ptr<Sink>(std::make_unique<GzipSink>(std::move(*sink)));
}

std::unique_ptr<Sink> MemorySink(std::string* out) { return std::make_unique<StringSink>(out); }

}  // namespace crosscut::exporting
