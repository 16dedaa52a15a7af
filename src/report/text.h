// The report for a terminal.
#pragma once

#include <string>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

struct TextOptions {
  int width = 100;     // columns; at least 80 are used
  bool color = false;  // ANSI bold and dim
  bool whole = false;  // cuts no name, however wide a line gets: for what is no terminal
};

// UTF-8 without any control characters except newlines and, with `color`, escapes for bold and dim.
std::string RenderText(const ReportData& data, const TextOptions& options);
std::string RenderText(const Document& document, const TextOptions& options);

}  // namespace crosscut::report
