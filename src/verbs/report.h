// The verb `report`: where the time went, for people.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

enum class ReportFormat { kText, kMarkdown, kJson, kHtml };

struct ReportOptions {
  ReportFormat format = ReportFormat::kText;
  int width = 100;     // columns of the terminal (text)
  bool color = false;  // may the text hold ANSI colours
};

Result<Output> Report(const std::string& path, const ReportOptions& options);

}  // namespace crosscut::verbs
