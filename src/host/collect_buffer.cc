#include "src/host/collect_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

namespace crosscut::host {

CollectBuffer::CollectBuffer(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = (bytes + page - 1) / page * page;
  void* map = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return;
  map_ = map;
  mapped_ = whole + page;
  if (mprotect(static_cast<char*>(map) + whole, page, PROT_NONE) != 0) return;
  data_ = static_cast<uint8_t*>(map) + (whole - bytes);
}

CollectBuffer::~CollectBuffer() {
  if (map_ != nullptr) munmap(map_, mapped_);
}

}  // namespace crosscut::host
