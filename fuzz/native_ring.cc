// Feeds arbitrary bytes to everything that reads a ring file: the snapshot and the run reader. The
// first input byte pads the file with zeros to a plausible length, so that inputs stay small.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "src/format/ring.h"

namespace {

using namespace crosscut::format;

void Require(bool condition) {
  if (!condition) abort();
}

const std::string& Path() {
  static const std::string path = [] {
    const int fd = memfd_create("ring", 0);  // nothing is left behind, however it ends
    Require(fd >= 0);
    return "/proc/self/fd/" + std::to_string(fd);
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t chunks = data[0] % 4;
  const std::string& path = Path();
  FILE* file = fopen(path.c_str(), "wb");
  Require(file != nullptr);
  // Header, then slices of 1 KiB at the start of each chunk: the rest of a chunk is zeros.
  RingHeader header = {};
  memcpy(&header, data + 1, std::min(size - 1, sizeof header));
  if (data[0] & 64) {
    header.magic = kRingMagic;
    header.version = kFormatVersion;
    header.header_bytes = kRingHeaderBytes;
    header.nonce |= 1;
    if (data[0] & 128) header.chunk_count = chunks;
  }
  fwrite(&header, sizeof header, 1, file);
  size_t at = 1 + sizeof header;
  for (size_t i = 0; i < chunks && at < size; ++i) {
    const size_t part = std::min<size_t>(size - at, 1024);
    fseek(file, static_cast<long>(kRingHeaderBytes + i * kRingChunkBytes), SEEK_SET);
    fwrite(data + at, part, 1, file);
    at += part;
  }
  fclose(file);
  Require(truncate(path.c_str(), static_cast<off_t>(kRingHeaderBytes + chunks * kRingChunkBytes)) ==
          0);
  auto snapshot = RingSnapshot::Read(path);
  if (!snapshot.ok()) return 0;
  Require(snapshot->chunks.size() <= chunks);
  for (const RingChunkCopy& chunk : snapshot->chunks) {
    Require(chunk.words.size() <= kRingChunkWords);
    for (size_t word = 0; word < chunk.words.size();) {
      const size_t length = EventLength(chunk.words, word);
      Require(length > 0);
      word += length;
    }
  }
  return 0;
}
