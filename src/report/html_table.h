// Tables as HTML that is readable without scripts; the script adds sorting and filtering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/analyze/table.h"
#include "src/analyze/table_entry.h"
#include "src/report/process_titles.h"

namespace crosscut::report {

// Longer tables are cut; a line below them says how to get the rest.
inline constexpr size_t kMaxPageRows = 300;

// A <details> element. `origin` is the zero of the page's times. If `entry` has no title, the
// table's name is the title. Processes are named by `titles`, but for the first column of the table
// `processes`, which has their keys.
std::string TableHtml(const analyze::Table& table, const analyze::TableEntry& entry, int64_t origin,
                      const ProcessTitles& titles = {});

// The words for a cell: units, yes and no, and the words for empty names.
std::string CellText(const analyze::Column& column, size_t row, int64_t origin);

// "framework+python" as text, with a colour key for each known layer.
std::string LayersHtml(const std::string& layers);

}  // namespace crosscut::report
