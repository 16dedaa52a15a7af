#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/descriptors.h"
#include "src/base/shown_text.h"
#include "src/cli/command_start.h"
#include "src/cli/commands.h"
#include "src/cli/help_format.h"
#include "src/cli/overview.h"
#include "src/cli/usage.h"

namespace crosscut::cli {

void Talk(std::string_view line) {
  const std::string text = "crosscut: " + base::ShownText(line) + "\n";
  const base::NoSignal no_signal(SIGPIPE);
  fwrite(text.data(), 1, text.size(), stderr);
}

int Fail(const Status& status) {
  Talk(status.message());
  const bool usage = status.code() == Status::Code::kUnsupported;
  return usage ? kUsage : kUnreadable;
}

int Print(std::string_view text, bool incomplete) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
    if (n >= 0 || errno == EINTR) continue;
    if (errno == EPIPE) break;
    Talk(std::string("stdout: ") + std::strerror(errno));
    return kUnreadable;
  }
  return incomplete ? kUnreadable : kGood;
}

namespace {

void AddVerbs(CLI::App* app, Run* run, const CommandWords* words) {
  AddRecord(app, run, words);
  AddControl(app, run);
  AddReport(app, run);
  AddOpen(app, run);
  AddRuns(app, run);
  AddTable(app, run);
  AddDiff(app, run);
  AddBaseline(app, run);
  AddInfo(app, run);
  AddPlot(app, run);
  AddMap(app, run);
  AddReduce(app, run);
  AddExport(app, run);
  AddImport(app, run);
  AddDoctor(app, run);
  AddValidate(app, run, words);
  AddCheckPlugin(app, run);
  AddTensorFlow(app, run);
  AddCompletion(app, run);
  AddHelp(app, run);
  PlaceVerbs(app);
}

// What is to be parsed of the words behind "crosscut". Behind a verb that runs a command, `words`
// gets that and the options in front of it.
std::vector<std::string> Line(CLI::App* app, std::span<char* const> given, CommandWords* words) {
  const std::string_view verb = given.front();
  if (verb != "record" && verb != "validate") return {given.begin(), given.end()};
  std::vector<CLI::App*> tables = {FindVerb(app, verb)};
  if (verb != "record") tables.push_back(FindVerb(app, "record"));  // it passes them on
  *words = SplitAtCommand(tables, given.subspan(1));
  std::vector<std::string> line = {std::string(verb)};
  line.insert(line.end(), words->options.begin(), words->options.end());
  return line;
}

}  // namespace

int Main(int argc, char** argv) {
  CLI::App app{
      "Crosscut shows where a machine-learning program's wall time goes.\n\n"
      "  crosscut record python train.py     run it and record\n"
      "  crosscut report                     see where the time went\n"};
  app.name("crosscut");
  app.set_version_flag("--version", CROSSCUT_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  Run run;
  CommandWords words;
  AddVerbs(&app, &run, &words);
  app.footer(
      "record exits as its command does. The others exit with 0 if all is well, 1 for a finding,\n"
      "2 for a wrong command line, 3 for an input that is unreadable or incomplete.");
  if (argc < 2) {
    (void)Print(Overview(&app), false);
    return kUsage;
  }
  if (*argv[1] != '-' && FindVerb(&app, argv[1]) == nullptr) {
    Talk(UnknownVerb(app, argv[1]));
    Talk("see crosscut --help");
    return kUsage;
  }
  std::vector<std::string> line = Line(&app, {argv + 1, argv + argc}, &words);
  try {
    std::reverse(line.begin(), line.end());  // as CLI11 wants them
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return FailUsage(app, error);
  }
  return run ? run() : static_cast<int>(kUsage);
}

}  // namespace crosscut::cli

int main(int argc, char** argv) {
  crosscut::base::HoldStandardDescriptors();
  crosscut::cli::TakeInterpreter();
  try {
    return crosscut::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    crosscut::cli::Talk("out of memory");
  } catch (const std::exception& error) {
    crosscut::cli::Talk(error.what());
  }
  return crosscut::cli::kUnreadable;
}
