// Spans that were cut where others ended do not nest once they are whole. This finds rows on which
// they do.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {

// The rows of the whole spans of one track; costs nothing where none was cut. Row 0 is the track's
// own. Of two spans that cross there, one moves to a further row: the operation (or another span
// that may end across others, or is Crosscut's own work), else the one that was cut.
class NestingRows {
 public:
  // All arguments must outlive it.
  NestingRows(const trace::Trace& trace, const trace::Spans& spans,
              const trace::WholeSpans& wholes);

  uint32_t size() const { return size_; }
  // Requires: wholes.first(span) == span, here and below.
  uint32_t of(trace::SpanIndex span) const { return rows_.empty() ? 0 : rows_[span]; }
  // Whether `around`, the innermost span of its row that is still open, holds `span`, the next one
  // of that row.
  bool Holds(trace::SpanIndex around, trace::SpanIndex span) const;

 private:
  void MoveWhatCrosses(const trace::Trace& trace);
  void Place(trace::SpanIndex span);

  const trace::Spans& spans_;
  const trace::WholeSpans& wholes_;
  std::vector<uint32_t> rows_;                       // by span
  std::vector<trace::SpanIndex> moved_;              // from row 0
  std::vector<std::vector<trace::SpanIndex>> open_;  // by row, from 1
  uint32_t size_ = 1;
};

}  // namespace crosscut::exporting
