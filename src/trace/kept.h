// What of a file has no counterpart in a trace: kept as it stands there, so that an exporter of the
// same format writes it again.
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

// The events of a file in their order: the text of each that a trace has no room for, and of each
// that is in the trace just the number of the series that it is the next of. Compressed: they are
// much alike.
class KeptEvents {
 public:
  void AddText(std::string_view text);
  void AddNextOf(uint32_t series);
  size_t size() const { return size_; }
  size_t bytes() const;  // of memory that they take
  // A view holds until its visit returns.
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

// The spans of one category, or the instants, of the tracks of one row of a file, by their begins.
struct KeptSeries {
  uint32_t row;  // Track::file_row
  StringId category;
  bool instants;
};

struct Kept {
  // Of the importer and the exporter; "": nothing is kept. "chrome": facts and events. "xspace":
  // the file itself, at `path`.
  std::string format;
  std::string path;
  // What stands beside the events: keys, and values as they are written.
  std::vector<std::pair<std::string, std::string>> facts;
  KeptEvents events;
  std::vector<KeptSeries> series;  // by the numbers in events
};

}  // namespace crosscut::trace
