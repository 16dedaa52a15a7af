// Parts of a file that have no counterpart in a trace. They are kept as the file has them, so that
// an exporter of the same format writes them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/trace/ids.h"

namespace crosscut::trace {

// The events of a file in their order. An event for which a trace has no room is kept as text. For
// an event that is in the trace, only the number of its series is kept: it is the next of that
// series. All is compressed, because events are much alike. Throws std::bad_alloc.
class KeptEvents {
 public:
  void AddText(std::string_view text);
  void AddNextOf(uint32_t series);
  size_t size() const { return size_; }
  size_t bytes() const;  // of memory in use
  // Calls `text` or `next_of` for each event, in order. The view is valid until `text` returns.
  void ForEach(const std::function<void(std::string_view)>& text,
               const std::function<void(uint32_t)>& next_of) const;

 private:
  struct Block {
    std::string packed;
    size_t bytes;  // unpacked
  };
  void Head(uint64_t head);
  void PackWhereLong();

  std::vector<Block> blocks_;
  std::string open_;  // not packed yet
  size_t size_ = 0;
};

// The spans of one category, or the instants, of all tracks of one row of a file, ordered by begin.
struct KeptSeries {
  uint32_t row;  // Track::file_row
  StringId category;
  bool instants;
};

struct Kept {
  // The importer's and exporter's name for the format; "": nothing is kept. "chrome": facts and
  // events. "xspace": the file itself, at `path`.
  std::string format;
  std::string path;
  // What stands beside the events: keys, and values as the file writes them.
  std::vector<std::pair<std::string, std::string>> facts;
  KeptEvents events;
  std::vector<KeptSeries> series;  // by the numbers in events
};

}  // namespace crosscut::trace
