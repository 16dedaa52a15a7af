// The report as GitHub-flavoured Markdown.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

std::string RenderMarkdown(const ReportData& data);

}  // namespace crosscut::report
