// report, table, export, info.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/commands.h"
#include "src/verbs/export.h"
#include "src/verbs/import.h"
#include "src/verbs/info.h"
#include "src/verbs/report.h"
#include "src/verbs/table.h"

namespace crosscut::cli {
namespace {

const std::map<std::string, verbs::ReportFormat> kReportFormats = {
    {"text", verbs::ReportFormat::kText},
    {"markdown", verbs::ReportFormat::kMarkdown},
    {"json", verbs::ReportFormat::kJson},
    {"html", verbs::ReportFormat::kHtml}};
const std::map<std::string, verbs::TableFormat> kTableFormats = {
    {"csv", verbs::TableFormat::kCsv}, {"json", verbs::TableFormat::kJson}};

// Takes one of the names and says which there are where it is none of them.
template <class Format>
CLI::Validator OneOf(const std::map<std::string, Format>& names) {
  const auto check = [&names](std::string& text) -> std::string {
    const auto found = names.find(text);
    if (found != names.end()) {
      text = std::to_string(static_cast<int>(found->second));
      return "";
    }
    std::string known;
    for (const auto& [name, format] : names) known += (known.empty() ? "" : ", ") + name;
    return "unknown format " + text + "; the formats are " + known;
  };
  return {check, ""};
}

// A reader that goes away must not end us by a signal.
void IgnorePipes() { std::signal(SIGPIPE, SIG_IGN); }

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

struct ReportArgs {
  std::vector<std::string> inputs;
  verbs::ReportFormat format = verbs::ReportFormat::kText;
  std::string file;
};

int RunReport(const ReportArgs& args) {
  IgnorePipes();
  using verbs::ReportFormat;
  const bool one = args.format == ReportFormat::kHtml || args.format == ReportFormat::kJson;
  if (one && args.inputs.size() > 1) {
    Talk("html and json take one input at a time");
    return kUsage;
  }
  verbs::ReportOptions options;
  options.format = args.format;
  if (args.file.empty()) {
    options.width = TerminalWidth();
    options.color = ColorWanted();
  }
  std::string text;
  bool incomplete = false;
  for (const std::string& input : args.inputs) {
    auto output = verbs::Report(input, options);
    if (!output.ok()) return Fail(output.status());
    if (text.empty()) {
      text = std::move(output->text);
    } else {
      text += "\n" + output->text;
    }
    incomplete = incomplete || output->incomplete;
  }
  if (args.file.empty()) return Print(text, incomplete);
  if (Status status = verbs::WriteWholeFile(args.file, text); !status.ok()) return Fail(status);
  Talk("wrote " + args.file + " (" + std::to_string((text.size() + 1023) / 1024) + " KiB)");
  return incomplete ? kUnreadable : kGood;
}

}  // namespace

void AddReport(CLI::App* app, Run* run) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* verb = app->add_subcommand("report", "Show where the time went");
  verb->add_option("INPUT", args->inputs, "run directory, as record makes it")
      ->required()
      ->option_text("...");
  verb->add_option("--format", args->format, "text (default), markdown, json or html")
      ->transform(OneOf(kReportFormats))
      ->option_text("FORMAT");
  verb->add_option("-o", args->file, "write to this file instead of stdout")->option_text("FILE");
  verb->callback([=] { *run = [=] { return RunReport(*args); }; });
}

void AddTable(CLI::App* app, Run* run) {
  struct Args {
    std::string input, name;
    verbs::TableFormat format = verbs::TableFormat::kCsv;
  };
  auto args = std::make_shared<Args>();
  CLI::App* verb = app->add_subcommand("table", "Print one table; without NAME, list them");
  verb->add_option("INPUT", args->input, "run directory, as record makes it")
      ->required()
      ->option_text(" ");
  verb->add_option("NAME", args->name, "which table")->option_text(" ");
  verb->add_option("--format", args->format, "csv (default) or json")
      ->transform(OneOf(kTableFormats))
      ->option_text("FORMAT");
  verb->callback([=] {
    *run = [=]() -> int {
      IgnorePipes();
      if (args->name.empty()) return Print(verbs::ListTables(), false);
      int printed = kGood;
      const auto print = [&printed](std::string_view part) {
        if (printed == kGood) printed = Print(part, false);
      };
      const auto complete = verbs::Table(args->input, args->name, args->format, print);
      if (!complete.ok()) return Fail(complete.status());
      return *complete ? printed : kUnreadable;
    };
  });
}

void AddExport(CLI::App* app, Run* run) {
  struct Args {
    std::string input, to, file;
  };
  auto args = std::make_shared<Args>();
  CLI::App* verb = app->add_subcommand("export", "Write a file for another tool");
  verb->add_option("INPUT", args->input, "run directory, as record makes it")
      ->required()
      ->option_text(" ");
  verb->add_option("--to", args->to, "format:\n" + verbs::ListFormats())
      ->required()
      ->option_text("FORMAT");
  verb->add_option("-o", args->file, "the file to write; compressed if its name ends in .gz")
      ->required()
      ->option_text("FILE");
  verb->callback([=] {
    *run = [=]() -> int {
      const auto done = verbs::Export(args->input, args->to, args->file);
      if (!done.ok()) return Fail(done.status());
      Talk("wrote " + args->file + " (" + std::to_string((done->bytes + 1023) / 1024) + " KiB)");
      return done->incomplete ? kUnreadable : kGood;
    };
  });
}

void AddImport(CLI::App* app, Run* run) {
  struct Args {
    std::vector<std::string> files;
    std::string run;
  };
  auto args = std::make_shared<Args>();
  CLI::App* verb = app->add_subcommand("import", "Make a run from files that other tools wrote");
  verb->add_option("FILE", args->files,
                   "profiles; every command that reads a run takes one as it is, too")
      ->required()
      ->option_text("...");
  verb->add_option("-o", args->run, "run directory to make")->required()->option_text("RUN");
  verb->callback([=] {
    *run = [=]() -> int {
      const auto done = verbs::ImportFiles(args->files, args->run);
      if (!done.ok()) return Fail(done.status());
      Talk(std::to_string(done->spans) + " spans on " + std::to_string(done->tracks) +
           " tracks in " + args->run + "; next: crosscut report " + args->run);
      return done->incomplete ? kUnreadable : kGood;
    };
  });
}

void AddInfo(CLI::App* app, Run* run) {
  auto input = std::make_shared<std::string>();
  CLI::App* verb = app->add_subcommand("info", "Show what an input is and what it holds");
  verb->add_option("INPUT", *input, "run directory, as record makes it")
      ->required()
      ->option_text(" ");
  verb->callback([=] {
    *run = [=]() -> int {
      IgnorePipes();
      const auto output = verbs::Info(*input);
      if (!output.ok()) return Fail(output.status());
      return Print(output->text, output->incomplete);
    };
  });
}

}  // namespace crosscut::cli
