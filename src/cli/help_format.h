// The help of verbs, the same whichever release of CLI11 a distribution has: from 2.5 on that has
// other headings, more empty lines, and spaces at the ends of lines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace crosscut::cli {

class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace crosscut::cli
