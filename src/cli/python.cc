// doctor, plot and validate: their work is done in Python, where what they need is.
#include "src/cli/python.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/commands.h"
#include "src/cli/output.h"
#include "src/verbs/output.h"
#include "src/verbs/recording/record_environment.h"

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
    "import sys; sys.path[:] = filter(None, (sys.argv.pop(1), *sys.path)); "
    "from crosscut.__main__ import run_verb; sys.exit(run_verb(sys.argv[1:]))";

struct PlotArgs {
  std::vector<std::string> runs;
  std::string folder;
};

int RunPlot(PlotArgs args) {
  if (const int code = TakeNewest(&args.runs); code != kGood) return code;
  std::vector<std::string> inputs = args.runs;
  for (const std::string& run : args.runs) inputs.push_back(run.substr(run.find('=') + 1));
  if (const Status refused = verbs::RefuseInput(args.folder, inputs); !refused.ok()) {
    return Fail(refused);
  }
  std::vector<std::string> words = {"plot", "-o", args.folder, "--"};
  words.insert(words.end(), args.runs.begin(), args.runs.end());
  return RunPython(words);
}

}  // namespace

int RunPython(const std::vector<std::string>& words, std::string python) {
  const std::filesystem::path program(verbs::ThisProgram());
  if (python.empty()) python = PythonOf(program);
  const auto package = program.parent_path().parent_path();
  const std::string where = package.filename() == "crosscut" ? package.parent_path().string() : "";
  std::vector<const char*> argv = {python.c_str(), "-c", kMain, where.c_str()};
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  execvp(python.c_str(), const_cast<char* const*>(argv.data()));
  Talk(python + ": " + std::strerror(errno));
  return kUsage;
}

void TakeInterpreter() {
  const char* named = std::getenv(kInterpreter);
  Interpreter() = named == nullptr ? "" : named;
  unsetenv(kInterpreter);
}

Verb DoctorVerb() {
  struct Args {
    bool build = false, clean = false, json = false;
    std::string python;
  };
  const auto args = std::make_shared<Args>();
  Verb verb("doctor", "Check", "crosscut doctor",
            "Tell what is recorded on this machine, and why not");
  verb.Take({
      {"--build", &args->build, "build the PyTorch source for this torch"},
      {"--clean", &args->clean,
       "empty the cache, and remove what ended processes left in shared memory"},
      {"--json", &args->json, "print JSON"},
      {"--python PATH", &args->python,
       "the Python to look at (default: that of Crosscut's environment, or python3)"},
  });
  verb.run = [=] {
    std::vector<std::string> words = {"doctor"};
    if (args->build) words.push_back("--build");
    if (args->clean) words.push_back("--clean");
    if (args->json) words.push_back("--json");
    return RunPython(words, args->python);
  };
  return verb;
}

Verb PlotVerb() {
  const auto args = std::make_shared<PlotArgs>();
  Verb verb("plot", "Look", "crosscut plot -o plots",
            "Draw metrics, overlaps and processes of runs");
  verb.Take({
      {"runs RUN...", &args->runs,
       "runs to draw side by side, each as RUN or LABEL=RUN; default the newest.\n"
       "Needs Matplotlib"},
      {"-o DIR", &args->folder, "where to write the plots; made if absent",
       Rules{.required = true}},
  });
  verb.run = [=] { return RunPlot(*args); };
  return verb;
}

// Its options are read in Python, where unknown ones go on to `record`; here they are for --help.
Verb ValidateVerb() {
  const auto words = std::make_shared<std::vector<std::string>>();
  const auto command = std::make_shared<std::vector<std::string>>();
  Verb verb("validate", "Check", "crosscut validate python train.py",
            "Run a command recorded and not: are corrected times true?");
  verb.Take({
      {"COMMAND ...", command.get(), "what to run, recorded and unrecorded"},
      {"--pairs N", kNowhere, "runs of each sort, interleaved ABBA (default 10)"},
      {"--within PERCENT", kNowhere, "how far the corrected time may be off (default 5)"},
      {"--times FILE", kNowhere,
       "a JSON file that the command writes, with its own step_median_ns: to\n"
       "compare steps, too"},
      {"--format FORMAT", kNowhere, "text (default) or json",
       Rules{.words = {"text", "json"}, .only = "format"}},
  });
  verb.notes = "Options of record may be among them; docs/validation.md explains the output.";
  verb.words = words.get();
  verb.options_of = "record";
  verb.run = [=] {
    std::vector<std::string> line = {"validate"};
    line.insert(line.end(), words->begin(), words->end());
    line.push_back("--");
    line.insert(line.end(), command->begin(), command->end());
    return RunPython(line);
  };
  return verb;
}

}  // namespace crosscut::cli
