// The report as GitHub-flavoured Markdown.
#pragma once

#include <string>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

std::string RenderMarkdown(const ReportData& data);
std::string RenderMarkdown(const Document& document);

}  // namespace crosscut::report
