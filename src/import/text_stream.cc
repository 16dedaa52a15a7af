#include "src/import/text_stream.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace crosscut::import {
namespace {

constexpr size_t kInputBytes = size_t{1} << 20;
constexpr size_t kHeadBytes = 4096;

bool IsGzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

class PlainText : public TextStream {
 public:
  PlainText(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PlainText() override { close(fd_); }

  Result<size_t> Read(std::span<char> to) override {
    ssize_t n = 0;
    do {
      n = read(fd_, to.data(), to.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) return Status::Io(path_ + ": " + strerror(errno));
    return static_cast<size_t>(n);
  }

 private:
  int fd_;
  std::string path_;
};

// One or more members of gzip, joined.
class GzipText : public TextStream {
 public:
  GzipText(std::unique_ptr<PlainText> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), input_(kInputBytes) {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  Result<size_t> Read(std::span<char> to) override {
    state_.next_out = reinterpret_cast<uint8_t*>(to.data());
    state_.avail_out = static_cast<uint32_t>(to.size());
    while (state_.avail_out > 0 && !ended_) {
      if (state_.avail_in == 0) {
        const Result<size_t> got = file_->Read(input_);
        if (!got.ok()) return got.status();
        taken_ += *got;
        state_.next_in = reinterpret_cast<uint8_t*>(input_.data());
        state_.avail_in = static_cast<uint32_t>(*got);
        if (*got == 0) {
          ended_ = true;
          if (!between_members_) trouble_ = "the compressed text is cut off";
          break;
        }
      }
      if (!Inflate()) break;
    }
    const size_t given = to.size() - state_.avail_out;
    if (given > 0 || trouble_.empty()) return given;
    return Status::Corrupt(path_ + ": " + trouble_);
  }

 private:
  // False: nothing more can be had.
  bool Inflate() {
    if (between_members_) {
      if (*state_.next_in != 0x1f) {  // padding behind the last member
        ended_ = true;
        return false;
      }
      uint8_t* const in = state_.next_in;
      uint8_t* const out = state_.next_out;
      const uint32_t in_bytes = state_.avail_in, out_bytes = state_.avail_out;
      isal_inflate_reset(&state_);
      state_.crc_flag = ISAL_GZIP;
      state_.next_in = in, state_.avail_in = in_bytes;
      state_.next_out = out, state_.avail_out = out_bytes;
      between_members_ = false;
    }
    const int error = isal_inflate(&state_);
    if (error != ISAL_DECOMP_OK) {
      trouble_ =
          "the compressed text is damaged before byte " + std::to_string(taken_ - state_.avail_in);
      ended_ = true;
      return false;
    }
    between_members_ = state_.block_state == ISAL_BLOCK_FINISH;
    return true;
  }

  std::unique_ptr<PlainText> file_;
  std::string path_;
  std::vector<char> input_;
  inflate_state state_;
  uint64_t taken_ = 0;
  bool between_members_ = false, ended_ = false;
  std::string trouble_;
};

}  // namespace

Result<std::unique_ptr<TextStream>> OpenText(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::Io(path + ": " + strerror(errno));
  auto file = std::make_unique<PlainText>(fd, path);
  char head[2] = {};
  const ssize_t n = pread(fd, head, sizeof head, 0);
  if (n == sizeof head && IsGzip({head, sizeof head})) {
    return std::unique_ptr<TextStream>(std::make_unique<GzipText>(std::move(file), path));
  }
  return std::unique_ptr<TextStream>(std::move(file));
}

std::string TextHead(std::string_view head) {
  if (!IsGzip(head)) return std::string(head);
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::string text(kHeadBytes, '\0');
  std::string input(head);
  state.next_in = reinterpret_cast<uint8_t*>(input.data());
  state.avail_in = static_cast<uint32_t>(input.size());
  state.next_out = reinterpret_cast<uint8_t*>(text.data());
  state.avail_out = static_cast<uint32_t>(text.size());
  (void)isal_inflate(&state);
  text.resize(text.size() - state.avail_out);
  return text;
}

}  // namespace crosscut::import
