// The help of verbs, the same whichever release of CLI11 a distribution has: from 2.5 on that has
// other headings, more empty lines, spaces at the ends of lines, and fills up paragraphs.
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
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;

 private:
  // A name and what is said of it, whose lines stand as they are, in two columns.
  std::string Row(const std::string& name, const std::string& text) const;
};

}  // namespace crosscut::cli
