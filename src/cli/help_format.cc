#include "src/cli/help_format.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

namespace crosscut::cli {
namespace {

constexpr std::string_view kUsage = "Usage: ";

std::string Stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

// "POSITIONALS:" as "Positionals:".
std::string Heading(std::string line) {
  const bool is_one = line.size() > 2 && line.back() == ':' &&
                      line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == line.size() - 1;
  for (size_t i = 1; is_one && i + 1 < line.size(); ++i) line[i] += 'a' - 'A';
  return line;
}

}  // namespace

HelpFormat::HelpFormat() {
  column_width(34);
#if CLI11_VERSION_MAJOR > 2 || CLI11_VERSION_MINOR >= 5
  enable_description_formatting(false);
  enable_footer_formatting(false);
#endif
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  const std::string usage = Stripped(Formatter::make_usage(app, std::move(name)));
  return (usage.starts_with(kUsage) ? "" : std::string(kUsage)) + usage + '\n';
}

std::string HelpFormat::Row(const std::string& name, const std::string& text) const {
  const std::string indent(column_width_, ' ');
  std::string row = "  " + name;
  if (!text.empty() && row.size() >= column_width_) row += '\n';
  if (!text.empty()) row.append(column_width_ - std::min(column_width_, row.size()), ' ');
  if (row.ends_with('\n')) row += indent;
  for (const char c : text) {
    row += c;
    if (c == '\n') row += indent;
  }
  return row + '\n';
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return Row(make_option_name(option, is_positional) + make_option_opts(option),
             make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* verb) const {
  return Row(verb->get_display_name(true), verb->get_description());
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
  std::istringstream lines(Formatter::make_help(app, std::move(name), mode));
  std::string help, line;
  bool empty = true;  // the line before: none at the begin
  while (std::getline(lines, line)) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.starts_with(kUsage) && help.ends_with("\n\n")) help.pop_back();
    if (!line.empty() || !empty) help += Heading(line) + '\n';
    empty = line.empty();
  }
  return help;
}

}  // namespace crosscut::cli
