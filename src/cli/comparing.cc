// diff and baseline.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/commands.h"
#include "src/cli/output.h"
#include "src/cli/values.h"
#include "src/verbs/baseline.h"
#include "src/verbs/diff.h"
#include "src/verbs/report.h"

namespace crosscut::cli {
namespace {

struct DiffArgs {
  std::vector<std::string> inputs, base;
  std::optional<verbs::ReportFormat> format;
  std::optional<double> fail_above;  // percent
  std::string file;
};

// Which inputs are A and which are B.
int TakeSides(const DiffArgs& args, verbs::DiffOptions* options) {
  options->a = args.base;
  options->b = args.inputs;
  if (args.base.empty()) {
    if (args.inputs.empty() || args.inputs.size() > 2) {
      Talk("diff takes two runs, A and B, or several a side: crosscut diff --base A1 A2 -- B1 B2");
      return kUsage;
    }
    options->a = {args.inputs.front()};
    options->b.erase(options->b.begin());
  }
  return TakeNewest(&options->b);
}

// The exit code that --fail-above asks for.
int Judge(const verbs::DiffOutput& done, double fail_above) {
  if (!done.why_not.empty()) {
    Talk("--fail-above has no answer: " + done.why_not);
    return kUnreadable;
  }
  if (!(100 * done.slower > fail_above)) {
    if (done.left_out.empty()) return kGood;
    Talk("--fail-above has no answer of all processes that take long: " + done.left_out);
    return kUnreadable;
  }
  char by[32];
  snprintf(by, sizeof by, "%.1f %%", 100 * done.slower);
  Talk(done.slowest_is_new
           ? done.slowest + " is new and takes more than --fail-above allows: " + by +
                 " of a step of A at least"
           : done.slowest + " is slower by more than --fail-above allows: by " + by + " at least");
  return kFinding;
}

int RunDiff(const DiffArgs& args) {
  verbs::DiffOptions options;
  if (const int code = TakeSides(args, &options); code != kGood) return code;
  options.format = args.format.value_or(verbs::ReportFormatOf(args.file));
  const bool to_stdout = IsForStdout(args.file, &options);
  const auto done = verbs::Diff(options);
  if (!done.ok()) return Fail(done.status());
  const auto& [text, incomplete] = done->output;
  const int written =
      to_stdout ? Print(text, incomplete) : WriteOutput(args.file, done->inputs, text, incomplete);
  if (written != kGood || !args.fail_above) return written;
  return Judge(*done, *args.fail_above);
}

Argument NameArgument(std::string* to) {
  return {"NAME", to, "the baseline's name", Rules{.required = true}};
}

int SaveBaseline(const std::string& name, std::vector<std::string> inputs) {
  if (const int code = TakeNewest(&inputs); code != kGood) return code;
  const auto saved = verbs::SaveBaseline(name, inputs);
  if (!saved.ok()) return Fail(saved.status());
  Talk((saved->replaced ? "replaced " : "wrote ") + saved->path + " (" +
       verbs::KibiBytes(saved->bytes) + "); next: crosscut diff " + name + " RUN");
  return kGood;
}

Verb SaveVerb() {
  const auto name = std::make_shared<std::string>();
  const auto inputs = std::make_shared<std::vector<std::string>>();
  Verb verb("baseline save", "", "", "Copy runs into .crosscut/baselines/NAME");
  verb.Take({
      NameArgument(name.get()),
      {"INPUT ...", inputs.get(), "runs or traces; default the newest run"},
  });
  verb.run = [=] { return SaveBaseline(*name, *inputs); };
  return verb;
}

Verb ListVerb() {
  Verb verb("baseline list", "", "", "List the baselines of this folder");
  verb.run = [] {
    const auto output = verbs::ListBaselines();
    if (!output.ok()) return Fail(output.status());
    if (output->text.empty()) Talk("there is no baseline here; crosscut baseline save NAME RUN");
    return Print(output->text, false);
  };
  return verb;
}

Verb RemoveVerb() {
  const auto name = std::make_shared<std::string>();
  Verb verb("baseline rm", "", "", "Remove a baseline");
  verb.Take({NameArgument(name.get())});
  verb.run = [=] {
    const Status removed = verbs::RemoveBaseline(*name);
    return removed.ok() ? static_cast<int>(kGood) : Fail(removed);
  };
  return verb;
}

}  // namespace

Verb DiffVerb() {
  const auto args = std::make_shared<DiffArgs>();
  Verb verb("diff", "Look", "crosscut diff OLD_RUN NEW_RUN",
            "Compare runs: is B slower than A, and where");
  verb.Take({
      {"INPUT ...", &args->inputs,
       "A and B: run directories, as record makes them, other tools' traces, or names\n"
       "of baselines; B is the newest run if only A is named"},
      {"--base INPUT ...", &args->base,
       "the runs of A, if there are several; -- and the runs of B follow"},
      {"--fail-above PERCENT", &args->fail_above,
       "exit with 1 if a step of B, or an operation that stands out, is certainly slower\n"
       "by more than so many percent: if the whole 95 % interval is above; with 3 if the\n"
       "runs cannot be compared",
       Rules{.check = Percent()}},
      FormatOption(
          &args->format, kReportFormats,
          "text, markdown, json or html, a page with steps of both laid under each other;\n"
          "default what the name of -o ends with, else text"),
      {"-o FILE", &args->file, "write to this file instead of stdout"},
  });
  verb.run = [=] { return RunDiff(*args); };
  return verb;
}

Verb BaselineVerb() {
  Verb verb("baseline", "Look", "crosscut baseline save main",
            "Keep runs under a name that diff takes");
  verb.verbs = {SaveVerb(), ListVerb(), RemoveVerb()};
  return verb;
}

}  // namespace crosscut::cli
