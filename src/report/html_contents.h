// How a reader finds the page's parts: a list of its sections and tables, and what has no rows.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// The title under which the page has the table of that name; the name where it has none.
std::string TableTitle(const std::string& table);

// Links to the sections of a page that shows `data`, as <nav>. Those that a script draws are hidden
// until it has drawn them.
std::string ContentsHtml(const ReportData& data);

// Links to the tables that have rows, and a fold with those that have none and how they would be
// recorded. `skipped` stands elsewhere on the page.
std::string TableListHtml(const ReportData& data, std::string_view skipped);

}  // namespace crosscut::report
