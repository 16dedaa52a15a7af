// One table as text for other programs and for people.
#pragma once

#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// RFC 4180, with a header line. Text cells that a spreadsheet would take for a formula (first
// character = + - @, tab or carriage return) are quoted and begin with an apostrophe. Missing
// cells are empty.
std::string RenderCsv(const analyze::Table& table);

// {"table": name, "rows": n, "notes": [...], "columns": {"name": [...], ...}}: integers exact,
// missing cells null.
std::string RenderJson(const analyze::Table& table);

// A JSON string with its quotes: control characters escaped, bytes that are no UTF-8 as U+FFFD.
std::string JsonText(std::string_view text);

}  // namespace crosscut::report
