// Makes the document of a run, which the terminal and Markdown views show.
#pragma once

#include <span>
#include <string_view>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

// The names of the tables that a document uses; `data` needs no others.
std::span<const std::string_view> DocumentTables();

// Names in the result are clean (CleanText), but not escaped for any markup.
Document MakeDocument(const ReportData& data, const DocumentOptions& options);

}  // namespace crosscut::report
