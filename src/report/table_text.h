// One table as text for other programs and for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/analyze/table.h"
#include "src/base/json_text.h"

namespace crosscut::report {

// Receives the next part of a text. Parts are short, however long the table is.
using TakeText = std::function<void(std::string_view part)>;

// RFC 4180, with a header line. Text cells that a spreadsheet would take for a formula (first
// character = + - @, tab or carriage return) are quoted and begin with an apostrophe. Missing cells
// are empty.
void WriteCsv(const analyze::Table& table, const TakeText& take);

// A text as a cell of it.
std::string CsvText(std::string_view text);

// {"table": name, "rows": n, "notes": [...], "columns": {"name": [...], ...}}: integers exact,
// missing cells null.
void WriteJson(const analyze::Table& table, const TakeText& take);

// A number as a cell of either: "" in CSV, null in JSON where it is not known.
std::string CsvNumber(const analyze::Column& column, size_t row);
std::string JsonNumber(const analyze::Column& column, size_t row);

using base::JsonText;

}  // namespace crosscut::report
