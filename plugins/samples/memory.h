// This process's memory as other threads leave it: the kernel copies it, so that an address that is
// no longer valid is an answer and not a fault.
#pragma once

#include <cstddef>
#include <span>

namespace crosscut::samples {

struct Piece {
  const void* from;
  void* to;
  size_t bytes;
};
// Reads the pieces in order and returns how many it read whole: fewer where one cannot be read.
size_t ReadPieces(std::span<const Piece> pieces);

// False where not all of it can be read.
bool ReadMemory(const void* from, void* to, size_t bytes);
template <class T>
bool ReadObject(const void* from, T* to) {
  return ReadMemory(from, static_cast<void*>(to), sizeof(T));
}

}  // namespace crosscut::samples
