// doctor, plot and validate: their work is done in Python, where what they need is.
#include "src/cli/python.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/command_start.h"
#include "src/cli/commands.h"
#include "src/cli/newest.h"
#include "src/cli/values.h"

namespace crosscut::cli {
namespace {

constexpr const char* kInterpreter = "CROSSCUT_INTERPRETER";

std::string& Interpreter() {
  static std::string path;
  return path;
}

// The Python that started this program, else that of the environment which it belongs to
// (<env>/lib/python*/site-packages/crosscut/bin), else the first one in PATH.
std::string PythonOf(const std::filesystem::path& program) {
  if (!Interpreter().empty()) return Interpreter();
  std::error_code error;
  for (auto at = program.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    const auto python = at / "bin" / "python3";
    if (at.filename() != "crosscut" && std::filesystem::exists(python, error)) {
      return python.string();
    }
  }
  return "python3";
}

// `python -m crosscut WORDS`, but with the package that this program lies in, wherever Python would
// look, and not by the environment, which the commands that `validate` runs must find as it was.
constexpr char kMain[] =
    "import sys; sys.path[0] = sys.argv.pop(1); "
    "from crosscut.__main__ import run_verb; sys.exit(run_verb(sys.argv[1:]))";

struct PlotArgs {
  std::vector<std::string> runs;
  std::string folder;
};

int RunPlot(PlotArgs args) {
  if (const int code = TakeNewest(&args.runs); code != kGood) return code;
  std::vector<std::string> words = {"plot", "-o", args.folder, "--"};
  words.insert(words.end(), args.runs.begin(), args.runs.end());
  return RunPython(words);
}

}  // namespace

int RunPython(const std::vector<std::string>& words, std::string python) {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::filesystem::path program(std::string(path, n > 0 ? static_cast<size_t>(n) : 0));
  if (python.empty()) python = PythonOf(program);
  const auto package = program.parent_path().parent_path();
  const std::string where = package.filename() == "crosscut" ? package.parent_path().string() : "";
  std::vector<const char*> argv = {python.c_str(), "-c", kMain, where.c_str()};
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  execvp(python.c_str(), const_cast<char* const*>(argv.data()));
  Talk(python + ": " + std::strerror(errno));
  return kFinding;
}

void TakeInterpreter() {
  const char* named = std::getenv(kInterpreter);
  Interpreter() = named == nullptr ? "" : named;
  unsetenv(kInterpreter);
}

void AddDoctor(CLI::App* app, Run* run) {
  struct Args {
    bool build = false, clean = false, json = false;
    std::string python;
  };
  auto args = std::make_shared<Args>();
  CLI::App* verb =
      app->add_subcommand("doctor", "Tell what is recorded on this machine, and why not");
  verb->add_flag("--build", args->build, "build the PyTorch source for this torch");
  verb->add_flag("--clean", args->clean,
                 "empty the cache, and remove what ended processes left in shared memory");
  verb->add_flag("--json", args->json, "print JSON");
  verb->add_option("--python", args->python,
                   "the Python to look at (default: that of Crosscut's environment, or python3)")
      ->option_text("PATH");
  verb->callback([=] {
    *run = [=] {
      std::vector<std::string> words = {"doctor"};
      if (args->build) words.push_back("--build");
      if (args->clean) words.push_back("--clean");
      if (args->json) words.push_back("--json");
      return RunPython(words, args->python);
    };
  });
}

void AddPlot(CLI::App* app, Run* run) {
  auto args = std::make_shared<PlotArgs>();
  CLI::App* verb = app->add_subcommand("plot", "Draw metrics, overlaps and processes of runs");
  verb->add_option("runs", args->runs,
                   "runs to draw side by side, each as RUN or LABEL=RUN; default the newest.\n"
                   "Needs Matplotlib")
      ->option_text("RUN...");
  verb->add_option("-o", args->folder, "where to write the plots; made if absent")
      ->required()
      ->option_text("DIR");
  verb->callback([=] { *run = [=] { return RunPlot(*args); }; });
}

// Its options are read in Python, where unknown ones go on to `record`; here they are for --help.
void AddValidate(CLI::App* app, Run* run, const CommandWords* words) {
  CLI::App* verb =
      app->add_subcommand("validate", "Run a command recorded and not: are corrected times true?");
  verb->allow_extras();
  auto command = std::make_shared<std::vector<std::string>>();  // for --help: it is in `words`
  verb->add_option("COMMAND", *command, "what to run, recorded and unrecorded")->option_text("...");
  verb->add_option("--pairs", "runs of each sort, interleaved ABBA (default 10)")->option_text("N");
  verb->add_option("--within",
                   "how far the corrected time may be off, beyond the differences between\n"
                   "unrecorded runs (default 5)")
      ->option_text("PERCENT");
  verb->add_option("--times",
                   "a JSON file that the command writes, with its own step_median_ns: to\n"
                   "compare steps, too")
      ->option_text("FILE");
  verb->add_option("--format", "text (default) or json")
      ->check(OneOf("format", {"text", "json"}))
      ->option_text("FORMAT");
  verb->footer("Options of record may be among them; docs/validation.md explains the output.");
  verb->callback([=] {
    *run = [=, keep = command] {
      std::vector<std::string> line = {"validate"};
      line.insert(line.end(), words->options.begin(), words->options.end());
      line.push_back("--");
      line.insert(line.end(), words->command.begin(), words->command.end());
      return RunPython(line);
    };
  });
}

}  // namespace crosscut::cli
