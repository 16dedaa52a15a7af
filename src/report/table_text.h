// One table as text for other programs and for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/analyze/table.h"

namespace crosscut::report {

// Receives the next part of a text. Parts are short, however long the table is.
using TakeText = std::function<void(std::string_view part)>;

// RFC 4180, with a header line. Text cells that a spreadsheet would take for a formula (first
// character = + - @, tab or carriage return) are quoted and begin with an apostrophe. Missing cells
// are empty.
void WriteCsv(const analyze::Table& table, const TakeText& take);

// {"table": name, "rows": n, "notes": [...], "columns": {"name": [...], ...}}: integers exact,
// missing cells null.
void WriteJson(const analyze::Table& table, const TakeText& take);

// The same as one text.
std::string RenderCsv(const analyze::Table& table);
std::string RenderJson(const analyze::Table& table);

// A JSON string with its quotes: control characters escaped, bytes that are no UTF-8 as U+FFFD.
std::string JsonText(std::string_view text);

}  // namespace crosscut::report
