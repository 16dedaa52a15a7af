#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "src/base/descriptors.h"
#include "src/cli/commands.h"

namespace crosscut::cli {

void Talk(std::string_view line) {
  const std::string text = "crosscut: " + std::string(line) + "\n";
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

bool HasVerb(const CLI::App& app, std::string_view name) {
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(verbs.begin(), verbs.end(),
                     [&](const CLI::App* verb) { return verb->get_name() == name; });
}

}  // namespace

int Main(int argc, char** argv) {
  CLI::App app{
      "Crosscut shows where a machine-learning program's wall time goes.\n\n"
      "  crosscut record -- python train.py     run it and record\n"
      "  crosscut report RUN                    see where the time went\n"};
  app.name("crosscut");
  app.set_version_flag("--version", CROSSCUT_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer(
      "record exits as its command does. The others exit with 0 if all is well, 1 for a finding,\n"
      "2 for a wrong command line, 3 for an input that is unreadable or incomplete.");
  Run run;
  char** const dashes = std::find_if(argv, argv + argc,
                                     [](const char* word) { return std::strcmp(word, "--") == 0; });
  const bool has_command = dashes != argv + argc;
  AddRecord(&app, &run, {dashes + has_command, argv + argc});
  AddControl(&app, &run);
  AddReport(&app, &run);
  AddTable(&app, &run);
  AddExport(&app, &run);
  AddImport(&app, &run);
  AddInfo(&app, &run);
  AddCheckPlugin(&app, &run);
  AddDoctor(&app, &run);
  AddPlot(&app, &run);
  AddTensorFlow(&app, &run);
  AddValidate(&app, &run, {argv + std::min(argc, 1), argv + argc});
  if (argc > 1 && *argv[1] != '-' && !HasVerb(app, argv[1])) {
    Talk(std::string("unknown verb ") + argv[1] + "; see crosscut --help");
    return kUsage;
  }
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    Talk(error.what());
    Talk("see crosscut --help, or crosscut VERB --help");
    return kUsage;
  }
  return run ? run() : static_cast<int>(kUsage);
}

}  // namespace crosscut::cli

int main(int argc, char** argv) {
  crosscut::base::HoldStandardDescriptors();
  try {
    return crosscut::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    crosscut::cli::Talk("out of memory");
  } catch (const std::exception& error) {
    crosscut::cli::Talk(error.what());
  }
  return crosscut::cli::kUnreadable;
}
