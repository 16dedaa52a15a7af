#include "src/report/views.h"

namespace crosscut::report {
namespace {

// Keeps a name from being taken for markup.
std::string Plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>()#+!|~&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string Code(std::string_view text) {
  return "`" + (text.find('`') == std::string_view::npos ? std::string(text) : std::string()) + "`";
}

void AddGrid(const Grid& grid, std::string* out) {
  if (grid.heads.empty()) return;
  *out += '|';
  for (const Grid::Head& head : grid.heads) *out += " " + Plain(head.text) + " |";
  *out += "\n|";
  for (const Grid::Head& head : grid.heads) *out += head.right ? " ---: |" : " :--- |";
  *out += '\n';
  for (size_t row = 0; row < grid.rows.size(); ++row) {
    const bool total = grid.last_is_total && row + 1 == grid.rows.size();
    *out += '|';
    for (const std::string& cell : grid.rows[row]) {
      const std::string text = Plain(cell);
      *out += (total && !text.empty() ? " **" + text + "**" : " " + text) + " |";
    }
    *out += '\n';
  }
  *out += '\n';
}

}  // namespace

std::string RenderMarkdown(const ReportData& data) {
  return RenderMarkdown(MakeDocument(data, {}));
}

std::string RenderMarkdown(const Document& document) {
  std::string out = "# " + Plain(document.title) + "\n\n";
  for (const std::string& answer : document.headline) out += "**" + Plain(answer) + "**\n\n";
  for (const std::string& gap : document.gaps) out += "> **Note:** " + Plain(gap) + "\n>\n";
  if (!document.gaps.empty()) out += '\n';
  for (const std::string& line : document.verdict.before) out += Plain(line) + "\n\n";
  for (const auto& [key, value] : document.facts) {
    out += "- " + Plain(key) + ": " + Plain(value) + "\n";
  }
  for (const Section& section : document.sections) {
    out += "\n## " + Plain(section.heading) + "\n\n";
    for (const std::string& line : section.before) out += Plain(line) + "\n\n";
    AddGrid(section.grid, &out);
    for (const std::string& line : section.after) out += Plain(line) + "\n\n";
  }
  out += "\n## Where to look next\n\n";
  for (const auto& [command, what] : document.next) {
    out += "- " + Code(command) + ": " + Plain(what) + "\n";
  }
  return out;
}

}  // namespace crosscut::report
