#include "src/trace/kept.h"

#include <zstd.h>

#include <new>

namespace crosscut::trace {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;
constexpr int kLevel = 1;

// Seven bits a byte, the lowest first; the last has the top bit clear.
uint64_t TakeHead(std::string_view* block) {
  uint64_t head = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(block->front());
    block->remove_prefix(1);
    head |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return head;
  }
}

}  // namespace

void KeptEvents::Head(uint64_t head) {
  for (; head >= 0x80; head >>= 7) open_ += static_cast<char>(head | 0x80);
  open_ += static_cast<char>(head);
  ++size_;
}

void KeptEvents::AddText(std::string_view text) {
  Head(uint64_t{text.size()} << 1);
  open_ += text;
  PackWhereLong();
}

void KeptEvents::AddNextOf(uint32_t series) {
  Head(uint64_t{series} << 1 | 1);
  PackWhereLong();
}

void KeptEvents::PackWhereLong() {
  if (open_.size() < kBlockBytes) return;
  std::string packed(ZSTD_compressBound(open_.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), open_.data(), open_.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();
  blocks_.push_back({packed.substr(0, size), open_.size()});
  open_.clear();
}

size_t KeptEvents::bytes() const {
  size_t bytes = open_.capacity();
  for (const Block& block : blocks_) bytes += block.packed.size() + sizeof block;
  return bytes;
}

void KeptEvents::ForEach(const std::function<void(std::string_view)>& text,
                         const std::function<void(uint32_t)>& next_of) const {
  const auto each = [&](std::string_view block) {
    while (!block.empty()) {
      const uint64_t head = TakeHead(&block);
      if ((head & 1) != 0) {
        next_of(static_cast<uint32_t>(head >> 1));
        continue;
      }
      text(block.substr(0, head >> 1));
      block.remove_prefix(head >> 1);
    }
  };
  std::string unpacked;
  for (const Block& block : blocks_) {
    unpacked.resize(block.bytes);
    const size_t size =
        ZSTD_decompress(unpacked.data(), unpacked.size(), block.packed.data(), block.packed.size());
    if (size != block.bytes) throw std::bad_alloc();
    each(unpacked);
  }
  each(open_);
}

}  // namespace crosscut::trace
