// The sweep under every overlap computation: changes of state from many sources, in order of time.
//
// A source appends its changes inside one time tile as records; the tile is radix-sorted and
// folded. Tiles hold a few thousand records, so everything stays in cache and memory does not
// grow with the trace. Times are integer nanoseconds, intervals half-open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::analyze {

// A change: nanoseconds since the tile's begin in the upper half, what changes in the lower half.
using Record = uint64_t;
inline constexpr Record MakeRecord(int64_t since_tile, uint32_t change) {
  return static_cast<Record>(since_tile) << 32 | change;
}

// Append-only buffer of a tile's records.
class Records {
 public:
  void Add(Record r) {
    if (size_ == data_.size()) data_.resize(std::max<size_t>(1024, size_ * 2));
    data_[size_++] = r;
  }
  // Call after each source whose records are in order of time among themselves.
  void EndRun() {
    if (run_ > 0 && run_ < size_ && (data_[run_] >> 32) < (data_[run_ - 1] >> 32)) sorted_ = false;
    run_ = size_;
  }
  void Clear() { size_ = run_ = 0, sorted_ = true; }
  // By time; records of one time keep their order.
  void Sort();
  size_t size() const { return size_; }
  const Record* begin() const { return data_.data(); }
  const Record* end() const { return data_.data() + size_; }

 private:
  std::vector<Record> data_, scratch_;
  size_t size_ = 0, run_ = 0;
  bool sorted_ = true;
};

inline constexpr size_t kTileRecords = 4096;  // aimed at

// Folds all changes in [begin, end). Source: int64_t Peek(quota) = a time before which it has about
// `quota` changes at most, INT64_MAX where fewer are left; Emit(from, until, records) appends the
// changes before `until` that were not appended yet, none earlier than `from`, ending each run.
// Fold: Apply(change) and Advance(from, until), called with from < until.
template <class Source, class Fold>
void Sweep(int64_t begin, int64_t end, Source& source, Fold& fold) {
  Records records;
  size_t quota = 64;
  for (int64_t from = begin; from < end;) {
    int64_t until = std::min(end, std::max(source.Peek(quota), from + 1));
    until = std::min(until, from + int64_t{UINT32_MAX});
    records.Clear();
    source.Emit(from, until, records);
    records.Sort();
    int64_t now = from;
    for (const Record r : records) {
      const int64_t at = from + static_cast<int64_t>(r >> 32);
      if (at != now) {
        fold.Advance(now, at);
        now = at;
      }
      fold.Apply(static_cast<uint32_t>(r));
    }
    if (now < until) fold.Advance(now, until);
    if (records.size() < kTileRecords / 2 && quota < kTileRecords) quota *= 2;
    if (records.size() > kTileRecords * 2 && quota > 16) quota /= 2;
    from = until;
  }
}

}  // namespace crosscut::analyze
