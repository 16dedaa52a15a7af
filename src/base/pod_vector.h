// A growing array of plain values for code that must not throw: every call that may allocate says
// whether it could.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace crosscut::base {

// A growing array of plain values. Functions that return bool return false, with nothing changed,
// where there is no memory.
template <class T>
class PodVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PodVector() = default;
  PodVector(PodVector&& other) noexcept { swap(other); }
  PodVector& operator=(PodVector&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PodVector() { free(data_); }

  void swap(PodVector& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  [[nodiscard]] bool Reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    if (capacity > SIZE_MAX / 2 / sizeof(T)) return false;
    size_t grown = capacity_ * 2 > capacity ? capacity_ * 2 : capacity;
    void* moved = realloc(data_, grown * sizeof(T));
    if (moved == nullptr) return false;
    data_ = static_cast<T*>(moved);
    capacity_ = grown;
    return true;
  }
  // New elements are indeterminate.
  [[nodiscard]] bool Resize(size_t size) {
    if (!Reserve(size)) return false;
    size_ = size;
    return true;
  }
  [[nodiscard]] bool Push(T value) {
    if (size_ == capacity_ && !Reserve(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }
  [[nodiscard]] bool Append(const T* values, size_t count) {
    if (!Reserve(size_ + count)) return false;
    if (count > 0) memcpy(data_ + size_, values, count * sizeof(T));
    size_ += count;
    return true;
  }
  void Pop() { --size_; }
  void Clear() { size_ = 0; }
  void Shrink(size_t size) { size_ = size; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return capacity_ * sizeof(T); }  // of heap
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<const T>() const { return {data_, size_}; }  // NOLINT

 private:
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace crosscut::base
