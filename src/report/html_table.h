// Tables as HTML that reads without scripts; the script adds sorting and filtering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// Longer tables are cut; a line below says how to get the rest.
inline constexpr size_t kMaxPageRows = 300;

// How a table stands in the page.
struct TableView {
  const char* name;         // of the analyze::Table
  const char* title;        // "Operations"
  const char* explanation;  // what a row is and how to read it, for a newcomer
  const char* largest_by;   // column to order by, largest first, processes kept together;
                            // nullptr: as the table is
  bool open;                // unfolded at first
};

// One <details> element. `origin` is the zero of the page's times.
std::string TableHtml(const analyze::Table& table, const TableView& view, int64_t origin);

// The words for one cell: units, yes and no, and the words for empty names.
std::string CellText(const analyze::Column& column, size_t row, int64_t origin);

// "framework+python" as text with a colour key for each known layer.
std::string LayersHtml(const std::string& layers);

}  // namespace crosscut::report
