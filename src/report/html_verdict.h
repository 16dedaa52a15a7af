// The first block of the page: what bounds the steps, by how much, and what to do.
#pragma once

#include <string>

#include "src/analyze/table.h"
#include "src/report/process_titles.h"

namespace crosscut::report {

// `verdict` is the table of that name; "" where it is null or has no rows. The first process's
// first cause stands in full; its other causes and the first cause of other processes in a line.
// `gaps`: how many sentences say what is missing from the recording; the block begins with that.
std::string VerdictHtml(const analyze::Table* verdict, size_t gaps, const ProcessTitles& titles);

}  // namespace crosscut::report
