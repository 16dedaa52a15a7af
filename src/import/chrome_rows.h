// The rows of a Chrome trace, one per thread and per stream of a device, and how they become
// tracks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/import/chrome_categories.h"
#include "src/trace/builder.h"

namespace crosscut::import {

// Kineto's steps: spans of this name and a number.
inline constexpr std::string_view kChromeStep = "ProfilerStep#";

// Bits of the ids of arrows: between launches and what they launched, by their correlation; and of
// those that the file declares. Both may lead from one process to another.
inline constexpr uint64_t kCorrelationFlows = uint64_t{3} << 62;
inline constexpr uint64_t kDeclaredFlows = uint64_t{1} << 63;

struct ChromeSpan {
  int64_t begin_ns, end_ns;
  trace::NameId name;
  uint32_t first_arg;  // into the row's args
  uint16_t arg_count;
  bool step;
};
struct ChromeArg {
  trace::StringId key;
  bool text;
  int64_t value;  // a number, or the index of a string
};

// Arguments in blocks, each given back when all that lie in it were taken: what has become a track
// needs no second place. The first few lie by themselves: most rows of a trace have no more.
class ChromeArgs {
 public:
  uint32_t size() const { return size_; }
  void push_back(const ChromeArg& arg) {
    if (size_ < kFirst) {
      first_.push_back(arg);
    } else {
      const uint32_t at = (size_ - kFirst) % kBlock;
      if (at == 0) blocks_.push_back({std::make_unique<ChromeArg[]>(kBlock), 0});
      blocks_.back().args[at] = arg;
    }
    ++size_;
  }
  // Once for each.
  ChromeArg Take(uint32_t index) {
    if (index < kFirst) return first_[index];
    Block& block = blocks_[(index - kFirst) / kBlock];
    const ChromeArg arg = block.args[(index - kFirst) % kBlock];
    if (++block.taken == kBlock) block.args.reset();
    return arg;
  }

 private:
  static constexpr uint32_t kFirst = 64, kBlock = 1 << 14;
  struct Block {
    std::unique_ptr<ChromeArg[]> args;
    uint32_t taken;
  };
  std::vector<ChromeArg> first_;
  std::vector<Block> blocks_;
  uint32_t size_ = 0;
};
struct ChromeFlow {
  int64_t at_ns;
  uint64_t id;
  bool out;
};

struct ChromeRow {
  uint32_t pid = 0;  // whose: an index of the owner of the rows
  Place place = Place::kThread;
  int64_t os_id = 0;
  trace::StringId name;
  // Each in any order.
  std::vector<ChromeSpan> spans;
  ChromeArgs args;
  std::vector<ChromeSpan> instants;  // end_ns is not looked at
  std::vector<ChromeFlow> flows;
  std::vector<ChromeSpan> open;  // begun and not ended yet, innermost last
};

// A track for the row, and more where its spans overlap without nesting. On threads, a span that
// outlives the one around it by no more than times are rounded by is cut, and has its own duration
// as the argument unclamped_ns. `pid`: of the thread's process, or the device's number.
void MakeTracksOf(trace::Builder* builder, trace::ProcessId process, int64_t pid, ChromeRow* row);

}  // namespace crosscut::import
