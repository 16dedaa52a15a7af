#include "line_table.h"

#include <Python.h>

#include <algorithm>

namespace crosscut::samples {
namespace {

// A damaged table can have any deltas.
int32_t Moved(int32_t line, int32_t delta) {
  return static_cast<int32_t>(static_cast<uint32_t>(line) + static_cast<uint32_t>(delta));
}

#if PY_VERSION_HEX >= 0x030b0000

class Locations {
 public:
  explicit Locations(std::string_view table) : table_(table) {}
  bool AtEnd() const { return at_ >= table_.size(); }
  uint8_t Byte() { return AtEnd() ? 0 : static_cast<uint8_t>(table_[at_++]); }
  void Skip(int bytes) { at_ += static_cast<size_t>(bytes); }
  uint32_t Unsigned() {
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 6) {
      const uint8_t byte = Byte();
      value |= uint32_t{byte & 0x3fu} << shift;
      if ((byte & 0x40) == 0) break;
    }
    return value;
  }
  int32_t Signed() {
    const uint32_t value = Unsigned();
    const auto size = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -size : size;
  }

 private:
  std::string_view table_;
  size_t at_ = 0;
};

enum Form { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15 };

// How far the line moves; the rest of the entry is passed over.
int32_t LineDelta(int form, Locations* table) {
  if (form == kNone) return 0;
  if (form == kNoColumns) return table->Signed();
  if (form == kLong) {
    const int32_t delta = table->Signed();
    for (int i = 0; i < 3; ++i) table->Unsigned();  // end line, columns
    return delta;
  }
  table->Skip(form >= kOneLine0 ? 2 : 1);
  return form >= kOneLine0 ? form - kOneLine0 : 0;
}

#endif

}  // namespace

#if PY_VERSION_HEX >= 0x030b0000

std::vector<LineRange> DecodeLines(std::string_view bytes, int first_line) {
  constexpr int kUnit = 2;  // bytes
  std::vector<LineRange> ranges;
  Locations table(bytes);
  int32_t end = 0, line = first_line;
  while (!table.AtEnd()) {
    const uint8_t first = table.Byte();
    if ((first & 0x80) == 0) break;
    const int form = first >> 3 & 15;
    end += ((first & 7) + 1) * kUnit;
    line = Moved(line, LineDelta(form, &table));
    const int32_t told = form == kNone ? 0 : line;
    if (!ranges.empty() && ranges.back().line == told) {
      ranges.back().end = end;
    } else {
      ranges.push_back({end, told});
    }
  }
  return ranges;
}

#else

std::vector<LineRange> DecodeLines(std::string_view bytes, int first_line) {
  constexpr int kNoLine = -128;
  std::vector<LineRange> ranges;
  int32_t end = 0, line = first_line;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    end += static_cast<uint8_t>(bytes[at]);
    const auto delta = static_cast<int8_t>(bytes[at + 1]);
    if (delta != kNoLine) line = Moved(line, delta);
    ranges.push_back({end, delta == kNoLine ? 0 : line});
  }
  return ranges;
}

#endif

int32_t LineAt(const std::vector<LineRange>& ranges, int32_t instruction) {
  const auto range =
      std::upper_bound(ranges.begin(), ranges.end(), instruction,
                       [](int32_t at, const LineRange& range) { return at < range.end; });
  return range == ranges.end() ? 0 : range->line;
}

}  // namespace crosscut::samples
