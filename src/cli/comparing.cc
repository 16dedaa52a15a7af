// diff and baseline.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/commands.h"
#include "src/cli/newest.h"
#include "src/cli/output.h"
#include "src/cli/values.h"
#include "src/verbs/baseline.h"
#include "src/verbs/diff.h"
#include "src/verbs/report.h"

namespace crosscut::cli {
namespace {

const std::map<std::string, verbs::DiffFormat> kDiffFormats = {
    {"text", verbs::DiffFormat::kText},
    {"markdown", verbs::DiffFormat::kMarkdown},
    {"json", verbs::DiffFormat::kJson},
    {"html", verbs::DiffFormat::kHtml}};

struct DiffArgs {
  std::vector<std::string> inputs, base;
  std::optional<verbs::DiffFormat> format;
  std::optional<double> fail_above;  // percent
  std::string file;
};

// The format that the name of -o ends with.
verbs::DiffFormat FormatOfFile(const std::string& file) {
  switch (verbs::ReportFormatOf(file)) {
    case verbs::ReportFormat::kMarkdown: return verbs::DiffFormat::kMarkdown;
    case verbs::ReportFormat::kJson: return verbs::DiffFormat::kJson;
    case verbs::ReportFormat::kHtml: return verbs::DiffFormat::kHtml;
    default: return verbs::DiffFormat::kText;
  }
}

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
  return 100 * done.low > fail_above ? kFinding : kGood;
}

int RunDiff(const DiffArgs& args) {
  IgnorePipes();
  verbs::DiffOptions options;
  if (const int code = TakeSides(args, &options); code != kGood) return code;
  options.format = args.format.value_or(FormatOfFile(args.file));
  const bool to_stdout = args.file.empty() || args.file == "-";
  if (to_stdout) {
    options.width = TerminalWidth();
    options.color = ColorWanted();
    options.whole = isatty(STDOUT_FILENO) == 0;
  }
  const auto done = verbs::Diff(options);
  if (!done.ok()) return Fail(done.status());
  const auto& [text, incomplete] = done->output;
  const int written =
      to_stdout ? Print(text, incomplete) : WriteOutput(args.file, text, incomplete);
  if (written != kGood || !args.fail_above) return written;
  return Judge(*done, *args.fail_above);
}

}  // namespace

void AddDiff(CLI::App* app, Run* run) {
  auto args = std::make_shared<DiffArgs>();
  CLI::App* verb = app->add_subcommand("diff", "Compare runs: is B slower than A, and where");
  verb->add_option("INPUT", args->inputs,
                   "A and B: run directories, as record makes them, other tools' traces, or names\n"
                   "of baselines; B is the newest run if only A is named")
      ->option_text("...");
  verb->add_option("--base", args->base,
                   "the runs of A, if there are several; -- and the runs of B follow")
      ->option_text("INPUT ...");
  verb->add_option("--fail-above", args->fail_above,
                   "exit with 1 if a step of B is certainly slower by more than so many percent:\n"
                   "if the whole 95 % interval is above; with 3 if the runs cannot be compared")
      ->transform(Percent())
      ->option_text("PERCENT");
  verb->add_option(
          "--format", args->format,
          "text, markdown, json or html, a page with steps of both laid under each other;\n"
          "default what the name of -o ends with, else text")
      ->transform(FormatOf(kDiffFormats))
      ->option_text("FORMAT");
  verb->add_option("-o", args->file, "write to this file instead of stdout")->option_text("FILE");
  verb->callback([=] { *run = [=] { return RunDiff(*args); }; });
}

void AddBaseline(CLI::App* app, Run* run) {
  struct Args {
    std::string name;
    std::vector<std::string> inputs;
  };
  CLI::App* group = app->add_subcommand("baseline", "Keep runs under a name that diff takes");
  group->require_subcommand(1);
  auto args = std::make_shared<Args>();
  const auto add_name = [&](CLI::App* verb) {
    verb->add_option("NAME", args->name, "the baseline's name")
        ->required()
        ->check(Suggest(verbs::BaselineNames()))
        ->option_text(" ");
  };
  CLI::App* save = group->add_subcommand("save", "Copy runs into .crosscut/baselines/NAME");
  add_name(save);
  save->add_option("INPUT", args->inputs, "runs or traces; default the newest run")
      ->option_text("...");
  save->callback([=] {
    *run = [=]() -> int {
      if (const int code = TakeNewest(&args->inputs); code != kGood) return code;
      const auto saved = verbs::SaveBaseline(args->name, args->inputs);
      if (!saved.ok()) return Fail(saved.status());
      Talk((saved->replaced ? "replaced " : "wrote ") + saved->path + " (" +
           KibiBytes(saved->bytes) + "); next: crosscut diff " + args->name + " RUN");
      return kGood;
    };
  });
  group->add_subcommand("list", "List the baselines of this folder")->callback([=] {
    *run = [=]() -> int {
      const auto output = verbs::ListBaselines();
      if (!output.ok()) return Fail(output.status());
      if (output->text.empty()) Talk("there is no baseline here; crosscut baseline save NAME RUN");
      return Print(output->text, false);
    };
  });
  CLI::App* remove = group->add_subcommand("rm", "Remove a baseline");
  add_name(remove);
  remove->callback([=] {
    *run = [=]() -> int {
      const Status removed = verbs::RemoveBaseline(args->name);
      return removed.ok() ? static_cast<int>(kGood) : Fail(removed);
    };
  });
}

}  // namespace crosscut::cli
