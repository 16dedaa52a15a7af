// The first block of the page: what bounds the steps, by how much, and what to do.
#pragma once

#include <string>

#include "src/report/data.h"
#include "src/report/process_titles.h"

namespace crosscut::report {

// "" where the table verdict is missing or has no rows. The first process's first cause stands in
// full, with its requests; its other causes and the first cause of other processes in a line. The
// block begins with how many sentences say what is missing from the recording.
std::string VerdictHtml(const ReportData& data, const ProcessTitles& titles);

}  // namespace crosscut::report
