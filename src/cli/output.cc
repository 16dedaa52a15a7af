#include "src/cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "src/base/shell_word.h"
#include "src/cli/commands.h"
#include "src/verbs/input.h"
#include "src/verbs/output.h"
#include "src/verbs/runs.h"

namespace crosscut::cli {

const std::map<std::string, verbs::ReportFormat> kReportFormats = {
    {"text", verbs::ReportFormat::kText},
    {"markdown", verbs::ReportFormat::kMarkdown},
    {"json", verbs::ReportFormat::kJson},
    {"html", verbs::ReportFormat::kHtml}};

bool ColorWanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int width = columns == nullptr ? 0 : std::atoi(columns);
  return width > 0 ? width : 100;
}

bool IsForStdout(const std::string& file, verbs::View* view) {
  if (!file.empty() && !verbs::IsStandardOutput(file)) return false;
  view->width = TerminalWidth();
  view->color = ColorWanted();
  view->whole = isatty(STDOUT_FILENO) == 0;
  return true;
}

int TakeNewest(std::vector<std::string>* inputs) {
  if (!inputs->empty()) return kGood;
  const auto runs = verbs::FindRuns(".");
  if (!runs.ok()) return Fail(runs.status());
  if (runs->empty()) {
    Talk(
        "no input is named, and there is no run in this folder or in crosscut-runs; record one: "
        "crosscut record python train.py");
    return kUsage;
  }
  inputs->push_back(runs->front().path);
  Talk("the newest run: " + base::ShellWord(runs->front().path));
  return kGood;
}

int WriteOutput(const std::string& file, const std::vector<std::string>& inputs,
                const std::string& text, bool incomplete) {
  const auto bytes = verbs::WriteOutput(file, inputs, text);
  if (!bytes.ok()) return Fail(bytes.status());
  Talk("wrote " + file + " (" + verbs::KibiBytes(*bytes) + ")");
  return Ended(incomplete);
}

}  // namespace crosscut::cli
