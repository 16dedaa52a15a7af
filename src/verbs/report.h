// The verb `report`: shows people where the time went.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

enum class ReportFormat { kText, kMarkdown, kJson, kHtml, kSummary };

// The format that a file's name ends with: .html, .htm, .md, .markdown, .json; text for others.
ReportFormat ReportFormatOf(std::string_view file);

struct View {
  ReportFormat format = ReportFormat::kText;
  int width = 100;     // columns of the terminal (text)
  bool color = false;  // whether the text may hold ANSI colours
  bool whole = true;   // whether the text has names whole, however wide its lines get
};

struct ReportOptions : View {
  std::vector<int64_t> steps;  // their spans are on the page before those of others (html)
};

Result<Output> Report(const std::string& path, const ReportOptions& options);
// The same of an input that stays open.
std::string ReportOf(const Input& input, const ReportOptions& options);

}  // namespace crosscut::verbs
