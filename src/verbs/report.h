// The verb `report`: shows people where the time went.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

enum class ReportFormat { kText, kMarkdown, kJson, kHtml };

struct ReportOptions {
  ReportFormat format = ReportFormat::kText;
  int width = 100;     // columns of the terminal (text)
  bool color = false;  // whether the text may hold ANSI colours
};

Result<Output> Report(const std::string& path, const ReportOptions& options);

}  // namespace crosscut::verbs
