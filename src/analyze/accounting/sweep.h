// The sweep beneath every overlap computation: it folds changes of state from many sources in order
// of time.
//
// A source appends its changes inside one time tile as records; the tile is radix-sorted and
// folded. Tiles hold a few thousand records, so everything stays in cache and memory does not
// grow with the trace. The length of a tile follows from that, so time in which nothing changes
// costs nothing. Times are integer nanoseconds, intervals half-open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::analyze {

// A change: the upper half has the nanoseconds since the tile's begin, the lower half has what
// changes. In a long tile, Records holds the nanoseconds beyond 32 bits beside the records.
using Record = uint64_t;
inline constexpr Record MakeRecord(int64_t since_tile, uint32_t change) {
  return static_cast<Record>(since_tile) << 32 | change;
}
inline constexpr uint32_t ChangeOf(Record record) { return static_cast<uint32_t>(record); }

// A buffer of one tile's records.
class Records {
 public:
  // `since_tile`: nanoseconds since the tile's begin, not negative; above UINT32_MAX only in a long
  // tile.
  void Add(int64_t since_tile, uint32_t change) {
    if (long_) [[unlikely]]
      high_.push_back(static_cast<uint32_t>(since_tile >> 32));
    if (size_ == data_.size()) data_.resize(std::max<size_t>(1024, size_ * 2));
    data_[size_++] = MakeRecord(since_tile, change);
  }
  // Call it after the records of each source, which must be in order of time among themselves.
  void EndRun() {
    if (run_ > 0 && run_ < size_ && Since(run_) < Since(run_ - 1)) sorted_ = false;
    run_ = size_;
  }
  // Empties the buffer for the next tile. A long tile is longer than UINT32_MAX nanoseconds.
  void Clear(bool long_tile = false) {
    size_ = run_ = 0, sorted_ = true, long_ = long_tile;
    high_.clear();
  }
  bool long_tile() const { return long_; }
  // Sorts by time; records of one time keep their order.
  void Sort();
  size_t size() const { return size_; }
  // Nanoseconds from the tile's begin to record i.
  int64_t Since(size_t i) const {
    const auto low = static_cast<int64_t>(data_[i] >> 32);
    return long_ ? static_cast<int64_t>(high_[i]) << 32 | low : low;
  }
  uint32_t change(size_t i) const { return ChangeOf(data_[i]); }

 private:
  void SortLong();

  std::vector<Record> data_, scratch_;
  std::vector<uint32_t> high_;  // by record of a long tile
  size_t size_ = 0, run_ = 0;
  bool sorted_ = true, long_ = false;
};

inline constexpr size_t kTileRecords = 4096;  // the size that tiles aim at

// Folds all changes in [begin, end).
// Source: int64_t Peek(quota) returns a time before which it has about `quota` changes at most, or
// INT64_MAX where fewer are left. Emit(from, until, records) appends the changes before `until`
// that were not appended yet, moves none to before `from`, and calls EndRun after each run.
// Fold: Apply(change), and Advance(from, until), which is called with from < until.
template <class Source, class Fold>
void Sweep(int64_t begin, int64_t end, Source& source, Fold& fold) {
  Records records;
  size_t quota = 64;
  for (int64_t from = begin; from < end;) {
    const int64_t until = std::min(end, std::max(source.Peek(quota), from + 1));
    records.Clear(/*long_tile=*/until - from > int64_t{UINT32_MAX});
    source.Emit(from, until, records);
    records.Sort();
    int64_t now = from;
    for (size_t i = 0; i < records.size(); ++i) {
      const int64_t at = from + records.Since(i);
      if (at != now) {
        fold.Advance(now, at);
        now = at;
      }
      fold.Apply(records.change(i));
    }
    if (now < until) fold.Advance(now, until);
    if (records.size() < kTileRecords / 2 && quota < kTileRecords) quota *= 2;
    if (records.size() > kTileRecords * 2 && quota > 16) quota /= 2;
    from = until;
  }
}

}  // namespace crosscut::analyze
