// The sweep under every overlap computation: changes of state from many sources, in order of time.
//
// A source appends its changes inside one time tile as records; the tile is radix-sorted and
// folded. Tiles hold a few thousand records, so everything stays in cache and memory does not
// grow with the trace. A tile is as long as it takes, so that time in which nothing changes costs
// nothing. Times are integer nanoseconds, intervals half-open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::analyze {

// A change: nanoseconds since the tile's begin in the upper half, what changes in the lower half.
// What of those nanoseconds is beyond 32 bits stands beside the records of a long tile.
using Record = uint64_t;
inline constexpr Record MakeRecord(int64_t since_tile, uint32_t change) {
  return static_cast<Record>(since_tile) << 32 | change;
}
inline constexpr uint32_t ChangeOf(Record record) { return static_cast<uint32_t>(record); }

// Append-only buffer of a tile's records.
class Records {
 public:
  // Nanoseconds since the tile's begin, not negative; above UINT32_MAX in a long tile alone.
  void Add(int64_t since_tile, uint32_t change) {
    if (long_) [[unlikely]]
      high_.push_back(static_cast<uint32_t>(since_tile >> 32));
    if (size_ == data_.size()) data_.resize(std::max<size_t>(1024, size_ * 2));
    data_[size_++] = MakeRecord(since_tile, change);
  }
  // Call after each source whose records are in order of time among themselves.
  void EndRun() {
    if (run_ > 0 && run_ < size_ && Since(run_) < Since(run_ - 1)) sorted_ = false;
    run_ = size_;
  }
  // Empty, for a tile of that length.
  void Clear(bool long_tile = false) {
    size_ = run_ = 0, sorted_ = true, long_ = long_tile;
    high_.clear();
  }
  bool long_tile() const { return long_; }
  // By time; records of one time keep their order.
  void Sort();
  size_t size() const { return size_; }
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
