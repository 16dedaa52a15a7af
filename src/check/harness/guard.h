// Memory whose end is watched: the byte behind it lies on a page that cannot be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace crosscut::check {

// `size` bytes that end where an untouchable page begins; `size` bytes are filled with `fill`, and
// the rest of their first page with 0xA5.
class GuardedBytes {
 public:
  GuardedBytes(size_t size, uint8_t fill);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // Whether anything in front of the bytes was written.
  bool FrontTouched() const;
  bool Guards(const void* address) const;

 private:
  uint8_t* base_;
  uint8_t* data_;
  uint8_t* guard_;
  size_t size_, mapped_;
};

// From here on a fault on a guard page of any GuardedBytes is a finding of `rule` with this text,
// after which the process ends; "" to end that. One thread at a time.
void OnGuardTouched(const std::string& rule, const std::string& text);

// Notes the call in flight and the address of a crash on the board, then lets it happen.
void WatchCrashes();

}  // namespace crosscut::check
