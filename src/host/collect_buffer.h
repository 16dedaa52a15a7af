// Memory that a plugin writes its data to: behind its last byte lies a page that nobody may touch,
// so that a write past the end faults in the plugin instead of corrupting the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::host {

class CollectBuffer {
 public:
  // Zeroed; data() is null where there is no memory.
  explicit CollectBuffer(size_t bytes);
  ~CollectBuffer();
  CollectBuffer(const CollectBuffer&) = delete;
  CollectBuffer& operator=(const CollectBuffer&) = delete;
  uint8_t* data() const { return data_; }

 private:
  void* map_ = nullptr;
  size_t mapped_ = 0;
  uint8_t* data_ = nullptr;
};

}  // namespace crosscut::host
