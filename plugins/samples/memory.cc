#include "memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace crosscut::samples {
namespace {

constexpr size_t kMostPieces = 64;  // in one call

// Whether its end is behind its begin.
bool EndsInMemory(const Piece& piece) {
  return piece.bytes <= UINTPTR_MAX - reinterpret_cast<uintptr_t>(piece.from);
}

// Bytes read; 0 where nothing can be.
size_t Read(std::span<const Piece> pieces) {
  iovec from[kMostPieces], to[kMostPieces];
  size_t n = 0;
  for (; n < pieces.size() && EndsInMemory(pieces[n]); ++n) {
    from[n] = {const_cast<void*>(pieces[n].from), pieces[n].bytes};
    to[n] = {pieces[n].to, pieces[n].bytes};
  }
  const ssize_t bytes = process_vm_readv(getpid(), to, n, from, n, 0);
  return bytes < 0 ? 0 : static_cast<size_t>(bytes);
}

}  // namespace

size_t ReadPieces(std::span<const Piece> pieces) {
  size_t done = 0;
  while (done < pieces.size()) {
    const size_t n = std::min(kMostPieces, pieces.size() - done);
    size_t bytes = Read(pieces.subspan(done, n));
    for (size_t i = 0; i < n; ++i) {
      if (bytes < pieces[done].bytes) return done;
      bytes -= pieces[done++].bytes;
    }
  }
  return done;
}

bool ReadMemory(const void* from, void* to, size_t bytes) {
  const Piece piece = {from, to, bytes};
  return Read({&piece, 1}) == bytes;
}

}  // namespace crosscut::samples
