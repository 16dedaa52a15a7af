// The cells of a table's text column: a list of texts that holds each distinct text once. A row
// therefore costs four bytes, however long the names are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::analyze {

class Texts {
 public:
  using value_type = std::string;

  Texts() = default;
  Texts(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) push_back(text);
  }
  Texts(size_t count, std::string_view text) {
    for (size_t i = 0; i < count; ++i) push_back(text);
  }

  void push_back(std::string_view text);
  void emplace_back(std::string_view text = {}) { push_back(text); }
  void reserve(size_t rows) { codes_.reserve(rows); }
  // Gives back the memory that only growing needs. Texts may still be added; the first of them
  // costs as much as adding all distinct ones again.
  void ShrinkToFit();
  size_t size() const { return codes_.size(); }
  bool empty() const { return codes_.empty(); }
  // Valid until the next push_back.
  const std::string& operator[](size_t row) const { return distinct_[codes_[row]]; }
  const std::string& back() const { return distinct_[codes_.back()]; }

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string*;
    using reference = const std::string&;
    Iterator() = default;
    Iterator(const Texts* texts, size_t row) : texts_(texts), row_(row) {}
    reference operator*() const { return (*texts_)[row_]; }
    pointer operator->() const { return &(*texts_)[row_]; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return {texts_, row_++}; }
    Iterator operator--(int) { return {texts_, row_--}; }
    Iterator& operator+=(difference_type n) {
      row_ = static_cast<size_t>(static_cast<difference_type>(row_) + n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
    friend Iterator operator+(difference_type n, Iterator at) { return at += n; }
    friend Iterator operator-(Iterator at, difference_type n) { return at += -n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.row_) - static_cast<difference_type>(b.row_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.row_ == b.row_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.row_ <=> b.row_; }

   private:
    const Texts* texts_ = nullptr;
    size_t row_ = 0;
  };
  using const_iterator = Iterator;
  using iterator = Iterator;
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  friend bool operator==(const Texts& a, const Texts& b) {
    return std::vector<std::string_view>(a.begin(), a.end()) ==
           std::vector<std::string_view>(b.begin(), b.end());
  }

 private:
  size_t SlotOf(std::string_view text) const;
  void Grow();

  std::vector<std::string> distinct_;
  std::vector<uint32_t> codes_;  // by row, into distinct_
  std::vector<uint32_t> slots_;  // a hash table of codes + 1; 0: free. At most half full.
                                 // Empty after ShrinkToFit.
};

}  // namespace crosscut::analyze
